import type { Setting } from '../base/config/setting.js';
import { settings } from '../base/config/settings.js';

/** docs/configuration.md, from the table that the broker reads its environment with. */
export function configurationPage(): string {
  const rows = (Object.entries(settings) as [string, Setting<unknown>][]).map(([name, setting]) => {
    const names = [name, ...setting.aliases].map((one) => `\`${one}\``).join(', then ');
    const byDefault = setting.secret
      ? 'unset'
      : setting.default === ''
        ? 'unset'
        : `\`${String(setting.default)}\``;
    return `| ${names} | ${byDefault} | ${setting.unit} | ${setting.bounds} | ${setting.about} |`;
  });
  return [
    '# Configuration',
    '',
    'Environment variables, read once at start. Unset or empty means the default. All faults are reported in one message and',
    'stop the start; a `QUEEN_` or `JWT_` name that is not in this table is warned about, with the nearest one that is.',
    '',
    '| Name | Default | Unit | Allowed | What it does |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    'This page is written by `npm run docs` from `src/base/config/settings.ts`.',
    '',
  ].join('\n');
}
