# SPDX-License-Identifier: BSD-2-Clause
"""Certificates for a test, made when needed: a CA, a server's and a client's signed by it."""

import os
import ssl
import subprocess


def openssl(*argv):
    subprocess.run(["openssl", *argv], check=True, capture_output=True, timeout=60)


class Certificates:
    def __init__(self, directory, names="DNS:model.test,IP:127.0.0.1"):
        self.directory = directory
        self.ca = self.path("ca.pem")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", "/CN=Test CA", "-keyout", self.path("ca.key"), "-out",
                self.ca)
        self.issue("server", f"subjectAltName={names}")
        self.issue("client", "extendedKeyUsage=clientAuth")

    def path(self, name):
        return os.path.join(self.directory, name)

    def issue(self, name, extension):
        with open(self.path(f"{name}.ext"), "w", encoding="ascii") as f:
            f.write(extension + "\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={name}", "-keyout", self.path(f"{name}.key"), "-out",
                self.path(f"{name}.csr"))
        openssl("x509", "-req", "-in", self.path(f"{name}.csr"), "-CA", self.ca, "-CAkey",
                self.path("ca.key"), "-CAcreateserial", "-days", "2", "-extfile",
                self.path(f"{name}.ext"), "-out", self.path(f"{name}.pem"))
        os.chmod(self.path(f"{name}.key"), 0o644)

    def context(self, wants_client=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("server.pem"), self.path("server.key"))
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.ca)
        return context
