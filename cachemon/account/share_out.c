/* SPDX-License-Identifier: BSD-2-Clause */
#include "cachemon/account/share_out.h"

/* Of equal remainders the first, so that the same figures give the same shares. */
static size_t largest(const uint64_t *weights, const uint64_t *shares, size_t nr, uint64_t pages,
		      uint64_t sum)
{
	unsigned __int128 most = 0;
	size_t at = nr;

	for (size_t i = 0; i < nr; i++) {
		unsigned __int128 exact = (unsigned __int128)pages * weights[i];
		unsigned __int128 given = (unsigned __int128)shares[i] * sum;

		if (exact > given && exact - given > most) {
			most = exact - given;
			at = i;
		}
	}
	return at;
}

void share_out(uint64_t pages, const uint64_t *weights, size_t nr, uint64_t *ret_shares)
{
	uint64_t sum = 0, given = 0;

	for (size_t i = 0; i < nr; i++)
		sum += weights[i];
	for (size_t i = 0; i < nr; i++) {
		ret_shares[i] = sum ? (uint64_t)((unsigned __int128)pages * weights[i] / sum) : 0;
		given += ret_shares[i];
	}
	for (; sum && given < pages; given++)
		ret_shares[largest(weights, ret_shares, nr, pages, sum)]++;
}
