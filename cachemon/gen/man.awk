# SPDX-License-Identifier: BSD-2-Clause
# scdoc's breaks between paragraphs, without those that break nothing: at the beginning and the end of a
# section, and inside the end of an indented part, behind which they go.
/^\.P$/ { pending = !heading; next }
/^\.RE$/ { print; heading = 0; next }
pending && !/^\.S[HS]/ { print ".P" }
{ pending = 0; heading = /^\.S[HS]/; print }
