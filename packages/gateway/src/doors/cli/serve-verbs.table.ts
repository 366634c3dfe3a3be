import type { Verb } from './verb.ts';

/** Verbs that stay. */
export const SERVE_VERBS: readonly Verb[] = [
  {
    words: 'serve',
    args: [],
    flags: [
      {
        name: 'listen',
        value: 'ADDRESS:PORT',
        sentence:
          'Where to listen (default: http.listen of palisade.toml, 127.0.0.1:7433); port 0 takes any.',
      },
      { name: 'quiet', value: null, sentence: 'Do not say where it serves.' },
    ],
    sentence: 'Serve the HTTP API and MCP until it is told to stop; running calls may end.',
    examples: ['palisade serve', 'palisade serve --listen 127.0.0.1:0 --json'],
    load: () => import('./verbs/serve.ts'),
  },
];
