import { quote } from '../core/hostile-text.ts';
import { accept, type Result, unfit } from '../core/result.ts';
import { DEFAULT_PORTS, formatSite, type Host, parseAuthority } from '../egress/authority.ts';
import { OCI_LIMITS } from './limits.ts';

/*
 * References to what is in a registry: `host[:port]/name`, then `:tag`, `@sha256:digest` or both. The grammar of names and
 * tags is that of the OCI distribution specification; the host is always written, since a default one would send the
 * packages of those who forget it to a stranger. Nothing is repaired.
 */

/** Where a registry is; the port is null where the one of its scheme is meant. */
export type RegistryHost = { readonly host: Host; readonly port: number | null; readonly text: string };

/** What a registry calls its contents, checked: safe in a path and on a terminal. */
export type Repository = { readonly registry: RegistryHost; readonly name: string };

export type Reference = Repository & {
  readonly tag: string | null;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: OciDigest | null;
};

export type OciDigest = `sha256:${string}`;

const NAME = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const EXAMPLE = 'one such as registry.example.com/acme/text:1.0.0';

export function isRepositoryName(text: string): boolean {
  return text.length <= OCI_LIMITS.nameChars && NAME.test(text);
}

export function isTag(text: string): boolean {
  return TAG.test(text);
}

export function isOciDigest(text: string): text is OciDigest {
  return DIGEST.test(text);
}

/** Reads a reference, with or without `oci://` in front. */
export function parseReference(raw: string): Result<Reference> {
  const subject = `reference ${quote(raw)}`;
  if (raw.length > OCI_LIMITS.referenceChars)
    return unfit(subject, `it has ${raw.length} characters`, `at most ${OCI_LIMITS.referenceChars}`);
  const text = withoutScheme(raw);
  const slash = text.indexOf('/');
  if (slash < 0) return unfit(subject, 'it has no name after the host', EXAMPLE);
  const registry = parseRegistry(text.slice(0, slash));
  if (!registry.ok) return registry;
  const [rest = '', rawDigest, ...more] = text.slice(slash + 1).split('@');
  if (more.length > 0) return unfit(subject, 'it has more than one "@"', EXAMPLE);
  const colon = rest.lastIndexOf(':');
  const [name, tag] = colon < 0 ? [rest, null] : [rest.slice(0, colon), rest.slice(colon + 1)];
  if (!isRepositoryName(name))
    return unfit(
      subject,
      `${quote(name)} is not a valid name`,
      `lower-case letters, digits, ".", "_", "-" and "/", ${EXAMPLE}`,
    );
  if (tag !== null && !isTag(tag))
    return unfit(subject, `${quote(tag)} is not a valid tag`, 'up to 128 letters, digits, ".", "_" and "-"');
  if (rawDigest !== undefined && !isOciDigest(rawDigest))
    return unfit(
      subject,
      `${quote(rawDigest)} is not a digest that can be checked`,
      '"sha256:" and 64 hexadecimal digits',
    );
  return accept({ registry: registry.value, name, tag, digest: rawDigest ?? null });
}

/** Reads the host of a registry. A word without a dot or a port is a name, not a host, in most tools. */
export function parseRegistry(raw: string): Result<RegistryHost> {
  const text = withoutScheme(raw);
  // Boundary: what stands before the "@" may be a password, which no message repeats.
  if (text.includes('@'))
    return unfit(
      'registry',
      'it has a user name',
      'the host alone: the log-in is in the vault, or read with --login',
    );
  const subject = `registry ${quote(raw)}`;
  if (/^https?:/i.test(text)) return unfit(subject, 'it has a scheme', EXAMPLE);
  const authority = parseAuthority(text);
  if (!authority.ok) return authority;
  const { host, port } = authority.value;
  const site = formatSite({ scheme: 'https', host, port: port ?? DEFAULT_PORTS.https });
  // Port 443 is another place than no port where the scheme is http.
  const spelt = port === DEFAULT_PORTS.https ? `${site}:443` : site;
  // The one spelling is judged, as `a.` is the host `a`.
  if (!/[.:]/.test(spelt) && spelt !== 'localhost')
    return unfit(
      subject,
      'it does not look like a host',
      'a host with a dot or a port, such as registry.example.com or localhost:5000',
    );
  return accept({ host, port, text: spelt });
}

function withoutScheme(raw: string): string {
  return raw.startsWith('oci://') ? raw.slice('oci://'.length) : raw;
}

export function formatRepository({ registry, name }: Repository): string {
  return `${registry.text}/${name}`;
}

/** The one spelling of a reference in records, messages and the table of tags. */
export function formatReference(reference: Reference): string {
  const { tag, digest } = reference;
  return `${formatRepository(reference)}${tag === null ? '' : `:${tag}`}${digest === null ? '' : `@${digest}`}`;
}
