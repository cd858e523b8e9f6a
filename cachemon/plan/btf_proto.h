/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The prototype of a kernel hook as one line of text, from BTF: "void(folio*)",
 * "ssize_t(kiocb*,iov_iter*,ssize_t)". Leaves out struct tags, qualifiers and argument names,
 * because programs that read the arguments do not depend on them. Owns this notation.
 */
#ifndef BTF_PROTO_H
#define BTF_PROTO_H

#include <stddef.h>

#include "cachemon/plan/hook_trial.h"

/*
 * Writes the prototype of target as a hook of that kind: a tracepoint's arguments omit the leading
 * void* of its C callback; an iterator and a perf event have none (""). -ENOENT: the kernel has no
 * such hook. -E2BIG: it does not fit, for example a type that never ends.
 */
int btf_proto_text(const struct btf *btf, enum hook_kind kind, const char *target, char *ret_text,
		   size_t size);

#endif
