/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What SQLite may open: no link in the place of a database or of its siblings, no sibling of
 * another owner, for writing no file of another user, and never a file that a journal names. Owns
 * the VFS "cachemon" and SQLite's open().
 */
#ifndef DB_VFS_H
#define DB_VFS_H

#define DB_VFS_NAME "cachemon"

/* An SQLite code; may be called again. */
int db_vfs_register(void);

#endif
