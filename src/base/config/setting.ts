/** One environment variable: how it is read, what it defaults to, what it may be. */
export interface Setting<T> {
  readonly kind: string;
  readonly default: T;
  readonly unit: string;
  readonly about: string;
  readonly bounds: string;
  readonly secret: boolean;
  /** Older names still read when this one is unset, first match wins. */
  readonly aliases: readonly string[];
  /** Returns the value, or throws an Error whose message completes "NAME …". */
  read(text: string): T;
}

interface Common {
  about: string;
  unit?: string;
  aliases?: string[];
}

export function integer(options: Common & { default: number; min: number; max: number }): Setting<number> {
  return {
    kind: 'integer',
    unit: '',
    aliases: [],
    secret: false,
    bounds: `${options.min}..${options.max}`,
    ...options,
    read(text) {
      if (!/^[+-]?\d{1,15}$/.test(text)) throw new Error(`must be a whole number, not "${text}"`);
      const value = Number(text);
      if (value < options.min || value > options.max) {
        throw new Error(`must be from ${options.min} to ${options.max}, not ${text}`);
      }
      return value;
    },
  };
}

export function decimal(options: Common & { default: number; min: number; max: number }): Setting<number> {
  return {
    kind: 'number',
    unit: '',
    aliases: [],
    secret: false,
    bounds: `${options.min}..${options.max}`,
    ...options,
    read(text) {
      if (!/^[+-]?\d{1,15}(\.\d{1,15})?$/.test(text)) throw new Error(`must be a number, not "${text}"`);
      const value = Number(text);
      if (value < options.min || value > options.max) {
        throw new Error(`must be from ${options.min} to ${options.max}, not ${text}`);
      }
      return value;
    },
  };
}

const TRUE = new Set(['true', '1', 'yes', 'on']);
const FALSE = new Set(['false', '0', 'no', 'off']);

/** A typo must not pick a default: anything but these words stops the boot. */
export function boolean(options: Common & { default: boolean }): Setting<boolean> {
  return {
    kind: 'boolean',
    unit: '',
    aliases: [],
    secret: false,
    bounds: 'true/false, 1/0, yes/no, on/off',
    ...options,
    read(text) {
      const word = text.toLowerCase();
      if (TRUE.has(word)) return true;
      if (FALSE.has(word)) return false;
      throw new Error(`must be true or false, not "${text}"`);
    },
  };
}

export function text(
  options: Common & { default: string; secret?: boolean; pattern?: RegExp; bounds?: string },
): Setting<string> {
  return {
    kind: 'text',
    unit: '',
    aliases: [],
    bounds: '',
    ...options,
    secret: options.secret ?? false,
    read(value) {
      if (options.pattern && !options.pattern.test(value)) {
        throw new Error(
          `must be ${options.bounds ?? 'well-formed'}${options.secret ? '' : `, not "${value}"`}`,
        );
      }
      return value;
    },
  };
}

export function choice<const C extends string>(
  options: Common & { default: C; choices: readonly C[] },
): Setting<C> {
  return {
    kind: 'choice',
    unit: '',
    aliases: [],
    secret: false,
    bounds: options.choices.join(', '),
    ...options,
    read(value) {
      const found = options.choices.find((one) => one.toLowerCase() === value.toLowerCase());
      if (found === undefined)
        throw new Error(`must be one of ${options.choices.join(', ')}, not "${value}"`);
      return found;
    },
  };
}
