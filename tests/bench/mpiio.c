/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpiio FILE BYTES CALLS: all ranks write a file by MPI_File_write_at_all and read it by
 * MPI_File_read_at, so many calls of so many bytes each; each reads what its neighbour wrote.
 * Prints the bytes of all ranks and the seconds of the slowest one, as JSON.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int r, const char *what)
{
	if (r == MPI_SUCCESS)
		return;
	fprintf(stderr, "mpiio: %s fails\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rank 0 gets the time of the slowest rank. */
static double slowest(double seconds)
{
	double ret = 0;

	MPI_Reduce(&seconds, &ret, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	return ret;
}

static double move(MPI_File f, int rank, int ranks, char *buffer, int bytes, int calls, int writes)
{
	double began;

	MPI_Barrier(MPI_COMM_WORLD);
	began = MPI_Wtime();
	for (int i = 0; i < calls; i++) {
		MPI_Offset at = ((MPI_Offset)i * ranks + rank) * bytes;
		MPI_Status status;
		int done = 0;

		if (writes)
			must(MPI_File_write_at_all(f, at, buffer, bytes, MPI_BYTE, &status),
			     "a write");
		else
			must(MPI_File_read_at(f, at, buffer, bytes, MPI_BYTE, &status), "a read");
		MPI_Get_count(&status, MPI_BYTE, &done);
		if (done != bytes)
			must(!MPI_SUCCESS, "a whole transfer");
	}
	return slowest(MPI_Wtime() - began);
}

int main(int argc, char **argv)
{
	int rank, ranks, bytes, calls;
	double written, read;
	char *buffer;
	MPI_File f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	bytes = argc == 4 ? atoi(argv[2]) : 0;
	calls = argc == 4 ? atoi(argv[3]) : 0;
	buffer = bytes > 0 ? malloc((size_t)bytes) : NULL;
	if (!buffer || calls <= 0)
		must(!MPI_SUCCESS, "mpiio FILE BYTES CALLS");
	memset(buffer, rank + 1, (size_t)bytes);
	must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			   &f),
	     "opening the file");
	written = move(f, rank, ranks, buffer, bytes, calls, 1);
	read = move(f, (rank + 1) % ranks, ranks, buffer, bytes, calls, 0);
	if (buffer[0] != (rank + 1) % ranks + 1)
		must(!MPI_SUCCESS, "reading what was written");
	MPI_File_close(&f);
	if (!rank)
		printf("{\"bytes\": %lld, \"write_s\": %.6f, \"read_s\": %.6f}\n",
		       (long long)bytes * calls * ranks, written, read);
	free(buffer);
	MPI_Finalize();
	return 0;
}
