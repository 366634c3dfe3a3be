import type { GrantKind } from '../../../registry/granted.ts';

/** What a module in a file can be granted with `--grant`; without any it has no capability. */
export const GRANT_FORMS = {
  http: {
    form: 'http=ENTRY',
    sentence:
      'Requests that one entry of an allow-list permits, as in `http=api.example.com` or `http="GET https://api.example.com/v1/"`.',
  },
  secret: {
    form: 'secret=NAME[:reveal][@HOST,…]',
    sentence:
      'A secret of the vault, inserted into headers of requests to these hosts only, as in `secret=github@api.github.com`; without a port only port 443. With `:reveal` the module may read it, with or without hosts.',
  },
  storage: {
    form: 'storage=PREFIX[:ro]',
    sentence: 'Storage at and below a prefix, as in `storage=notes/`; with `:ro` read-only.',
  },
  channel: {
    form: 'channel=NAME[:publish|:receive]',
    sentence: 'A channel, to publish to and receive from, or only one of the two.',
  },
  log: { form: 'log', sentence: 'Log lines, on standard error.' },
  clock: { form: 'clock', sentence: 'The start time of the call.' },
  random: { form: 'random', sentence: 'Random bytes.' },
  config: { form: 'config:KEY=VALUE', sentence: 'One configuration value.' },
} as const satisfies Record<GrantKind, { readonly form: string; readonly sentence: string }>;
