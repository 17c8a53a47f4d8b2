import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/** What plain scripts use of Node's globals. */
const nodeGlobals = [
  'process',
  'console',
  'URL',
  'URLSearchParams',
  'Buffer',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'performance',
  'fetch',
  'AbortController',
  'AbortSignal',
];

export default tseslint.config(
  { ignores: ['dist', 'coverage', 'node_modules', '.queen-data'] },
  eslint.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Read the environment in src/base/config only.' },
      ],
    },
  },
  {
    files: ['src/base/config/**', 'test/**'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: { globals: Object.fromEntries(nodeGlobals.map((name) => [name, 'readonly'])) },
  },
);
