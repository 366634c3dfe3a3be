import type { NetworkPlan } from './plan.ts';

/** What one run with a network is given, and no other. */
export type NetworkPass = {
  /** What its programs show to its proxy. */
  readonly token: string;
  /** Variables with the placeholders of its secrets. */
  readonly placeholders: Readonly<Record<string, string>>;
  /** The certificates that it trusts, where its proxy opens TLS; null where it trusts those of the system. */
  readonly trusted: string | null;
};

/** For a plan that is looked at and not run. */
export const SAMPLE_PASS: NetworkPass = { token: 'TOKEN', placeholders: {}, trusted: null };

/** Where the certificates lie that a run trusts; tier C alone has such a place. */
export const TRUST_FILE = '/.palisade/ca.pem';

/** Every spelling that programs look for. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
/** What is said to the own host is nobody else's matter, and doors on it are there without a proxy. */
const NO_PROXY = 'localhost,127.0.0.1,::1';
const TRUST_VARIABLES = [
  ...['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'REQUESTS_CA_BUNDLE', 'PIP_CERT'],
  ...['NODE_EXTRA_CA_CERTS', 'npm_config_cafile', 'CARGO_HTTP_CAINFO', 'AWS_CA_BUNDLE', 'DENO_CERT'],
];

/** The variables by which programs find the proxy, the certificates and the placeholders. */
export function networkVariables(
  { listeners }: NetworkPlan,
  { token, placeholders, trusted }: NetworkPass,
): Readonly<Record<string, string>> {
  const [{ address, port }] = listeners;
  const proxy = `http://run:${token}@${address}:${port}`;
  return {
    ...placeholders,
    ...sameFor(PROXY_VARIABLES, proxy),
    ...sameFor(['NO_PROXY', 'no_proxy'], NO_PROXY),
    // Node's own fetch asks for the others only then.
    NODE_USE_ENV_PROXY: '1',
    ...sameFor(trusted === null ? [] : TRUST_VARIABLES, TRUST_FILE),
  };
}

function sameFor(names: readonly string[], value: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, value]));
}
