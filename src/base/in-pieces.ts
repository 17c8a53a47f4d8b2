/**
 * Rows of a list in the pieces in which the database gives them out (bounded by bytes), until `limit` rows are there or
 * no more come. `fetch` gets the last row so far, null at first, and how many are still wanted.
 */
export async function* inPieces<Row>(
  limit: number,
  fetch: (last: Row | null, wanted: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let last: Row | null = null;
  for (let wanted = limit; wanted > 0;) {
    const rows: readonly Row[] = await fetch(last, wanted);
    if (rows.length === 0) return;
    yield rows;
    wanted -= rows.length;
    last = rows[rows.length - 1];
  }
}
