/** What a row of samples says, as plain numbers. Pure, so that the verdicts can be tested without a soak. */

/** Least-squares line through [x, y] points: slope a unit of x, and the standard error of that slope. */
export function slopeOf(points) {
  const n = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n;
  const sxx = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / sxx;
  const rest = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  return { slope, error: n > 2 ? Math.sqrt(rest / (n - 2) / sxx) : Infinity, mean: meanY };
}

/**
 * Whether something grows without end: over the whole time by more than `share` of its mean, and by more than its own
 * noise explains (two standard errors).
 */
export function grows(points, share) {
  const { slope, error, mean } = slopeOf(points);
  const span = points.at(-1)[0] - points[0][0];
  return { grows: slope * span > share * mean && slope > 2 * error, overTime: slope * span, mean };
}

/** Mean change a second between the first and the last of some counter samples [x in seconds, count]. */
export function rateOf(points) {
  return (points.at(-1)[1] - points[0][1]) / (points.at(-1)[0] - points[0][0]);
}
