import type { GrantKind } from '../../../registry/skill-tool.ts';

/** What a module that is run from a file can be granted, as `--grant` takes it; without a word it has nothing. */
export const GRANT_FORMS = {
  http: {
    form: 'http=ENTRY',
    sentence:
      'Requests to what one entry of an allow-list means, as in `http=api.example.com` or `http="GET https://api.example.com/v1/"`.',
  },
  secret: {
    form: 'secret=NAME[:reveal][@HOST,…]',
    sentence:
      'A secret of the vault for headers of requests to these hosts and no others, as in `secret=github@api.github.com`; without a port that is 443 alone. With `:reveal` the module may read it, with or without hosts.',
  },
  storage: {
    form: 'storage=PREFIX[:ro]',
    sentence:
      'What is stored at a prefix and beneath it, as in `storage=notes/`; with `:ro` only to be read.',
  },
  channel: {
    form: 'channel=NAME[:publish|:receive]',
    sentence: 'A channel, to publish to and to receive from, or only one of both.',
  },
  log: { form: 'log', sentence: 'Lines on standard error.' },
  clock: { form: 'clock', sentence: 'The time when the call began.' },
  random: { form: 'random', sentence: 'Random bytes.' },
  config: { form: 'config:KEY=VALUE', sentence: 'One value of its configuration.' },
} as const satisfies Record<GrantKind, { readonly form: string; readonly sentence: string }>;
