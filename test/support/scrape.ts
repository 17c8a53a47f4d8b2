export interface ScrapedSeries {
  labels: Record<string, string>;
  value: number;
}

export interface ScrapedFamily {
  type: string;
  help: string;
  series: ScrapedSeries[];
}

/** One scrape of a broker, read as Prometheus reads it; throws on a line that it would refuse. */
export async function scrapeFamilies(base: string): Promise<Map<string, ScrapedFamily>> {
  const answer = await fetch(`${base}/metrics/prometheus`);
  if (answer.status !== 200) throw new Error(`the scrape was answered ${answer.status}`);
  return familiesIn(await answer.text());
}

export function familiesIn(text: string): Map<string, ScrapedFamily> {
  const families = new Map<string, ScrapedFamily>();
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const comment = /^# (HELP|TYPE) (\w+) (.*)$/.exec(line);
    if (comment) {
      const [, what, name, rest] = comment;
      const family = families.get(name) ?? { type: '', help: '', series: [] };
      families.set(name, family);
      if (what === 'HELP') family.help = rest;
      else family.type = rest;
      continue;
    }
    const series = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    const family = series && families.get(series[1]);
    if (!series || !family) throw new Error(`no line of an exposition: ${line}`);
    const value = Number(series[3]);
    if (Number.isNaN(value)) throw new Error(`no number: ${line}`);
    family.series.push({ labels: labelsIn(series[2] ?? ''), value });
  }
  return families;
}

function labelsIn(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  if (pairs.map(([whole]) => whole).join(',') !== text) throw new Error(`no labels: ${text}`);
  return Object.fromEntries(
    pairs.map(([, name, value]) => [name, value.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c))]),
  );
}
