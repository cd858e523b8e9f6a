# SPDX-License-Identifier: BSD-2-Clause
"""A guest's initramfs: busybox, the modules needed for the shared root, and init.sh."""

import gzip
import os
import shutil
import subprocess
import tempfile

MODULES = ("virtio_pci", "virtiofs", "overlay", "virtio_blk")
INIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "init.sh")
DIRECTORIES = ("base", "bin", "dev", "lower", "modules", "out", "proc", "root", "sbin", "sys",
               "upper")
UNPACK = {".xz": ["xz", "-dc"], ".zst": ["zstd", "-dc"], ".gz": ["gzip", "-dc"]}


def module_files(kernel):
    """Modules to load, in order; built-in ones need nothing."""
    release = os.path.basename(kernel)
    files = []
    for name in MODULES:
        # A kernel without one of them reports it at boot.
        shown = subprocess.run(["/sbin/modprobe", "-d", kernel, "-S", release, "--show-depends",
                                name], capture_output=True, text=True).stdout
        files += [line.split()[1] for line in shown.splitlines() if line.startswith("insmod ")]
    return list(dict.fromkeys(files))


def copy_module(source, directory):
    name, suffix = os.path.splitext(os.path.basename(source))
    if suffix not in UNPACK:
        shutil.copy(source, directory)
        return name + suffix
    with open(os.path.join(directory, name), "wb") as f:
        subprocess.run([*UNPACK[suffix], source], stdout=f, check=True)
    return name


def make(kernel, path, root):
    """root: the directory of the busybox."""
    with tempfile.TemporaryDirectory() as tree:
        for name in DIRECTORIES:
            os.mkdir(os.path.join(tree, name))
        shutil.copy(os.path.join(root, "bin/busybox"), os.path.join(tree, "bin"))
        shutil.copy(INIT, os.path.join(tree, "init"))
        os.chmod(os.path.join(tree, "init"), 0o755)
        modules = os.path.join(tree, "modules")
        order = [copy_module(f, modules) for f in module_files(kernel)]
        with open(os.path.join(modules, "order"), "w") as f:
            f.writelines(name + "\n" for name in order)
        names = [os.path.relpath(os.path.join(at, n), tree)
                 for at, dirs, files in os.walk(tree) for n in dirs + files]
        archive = subprocess.run(["/bin/busybox", "cpio", "-o", "-H", "newc"], cwd=tree,
                                 input="\n".join(names).encode(), capture_output=True,
                                 check=True).stdout
    with gzip.open(path, "wb", compresslevel=1) as f:
        f.write(archive)
