import type { Verb } from './verb.ts';

export const MCP_VERBS: readonly Verb[] = [
  {
    words: 'mcp',
    args: [],
    flags: [
      {
        name: 'as',
        value: 'PRINCIPAL',
        sentence: 'Who the client is: agent:NAME, user:NAME or service:NAME (default: agent:mcp).',
      },
    ],
    sentence: 'Serve one MCP client over standard input and output, until the input ends.',
    examples: ['palisade mcp', 'palisade mcp --as agent:claude-code'],
    load: () => import('./verbs/mcp.ts'),
  },
];
