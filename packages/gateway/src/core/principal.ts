/** Who makes a call. The door derives it from the credential, never from the body of a call. */
export type Principal = {
  readonly kind: 'agent' | 'user' | 'service';
  readonly name: string;
};

/** Who performs an act that waits for the database. */
export type Actor = Principal & {
  /** Throws where the policies no longer permit the act; called in its transaction, before anything is written. */
  readonly require?: () => void;
};

/** One grammar for the names of principals, tenants and runs: no space, quote, control or separator can occur. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/;
const PRINCIPAL = /^(agent|user|service):(.+)$/;

export function isName(text: string): boolean {
  return NAME.test(text);
}

const TOOL_NAME = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/;

export function isToolName(text: string): boolean {
  return TOOL_NAME.test(text);
}

/** Parses `agent:NAME`, `user:NAME` or `service:NAME`; anything else is null. */
export function parsePrincipal(raw: string): Principal | null {
  const [, kind, name] = PRINCIPAL.exec(raw) ?? [];
  if (kind === undefined || name === undefined || !isName(name)) return null;
  return { kind: kind as Principal['kind'], name };
}

export function formatPrincipal(principal: Principal): string {
  return `${principal.kind}:${principal.name}`;
}
