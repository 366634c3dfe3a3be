/**
 * Fuzzes the readers and the decisions of egress: `node tools/fuzz-egress.mjs [--count N] [--seed S]`. Random
 * spellings, hosts and allow-lists are compared with Node's URL parser and with a second, slow way to decide; as many
 * requests to the proxy are compared with another reader of their heads.
 */
import { fuzzParts } from './fuzz-parts.mjs';

fuzzParts('egress', {
  'hosts and lists': 'packages/gateway/test/egress/fuzz/fuzz.ts',
  'proxy requests': 'packages/gateway/test/egress/http1/fuzz/fuzz.ts',
});
