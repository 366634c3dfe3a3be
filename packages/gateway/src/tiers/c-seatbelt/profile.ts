/**
 * The language of Seatbelt profiles, as little of it as is needed. Paths are hostile: they become strings of the profile
 * and nothing else. The last rule that matches decides, so what is denied by name stands at the end.
 */
import { ancestorsOf } from '../../core/within.ts';
import * as system from './system.table.ts';

export type ProfileTerms = {
  /** Canonical; may be read and written. */
  readonly workspace: string;
  /** A directory of the run alone; canonical; may be read and written. */
  readonly temporary: string;
  /** Canonical; may be read. */
  readonly readOnly: readonly string[];
  /** Relative to the workspace; may not be written. */
  readonly protectedPaths: readonly string[];
  readonly hasNetwork: boolean;
};

/** The protected paths that can be written as a pattern without a doubt about its meaning. */
export const PLAIN_PATH = /^[A-Za-z0-9._@ /-]+$/;

const FIRMLINKED = '/System/Volumes/Data';
const ROOT_LINKS = ['/etc', '/tmp', '/var'];

/** The path that the kernel of macOS compares: with /etc, /tmp and /var behind /private, and no name of a volume. */
export function canonicalPath(path: string): string {
  const plain = path.startsWith(`${FIRMLINKED}/`) ? path.slice(FIRMLINKED.length) : path;
  const isBehindLink = ROOT_LINKS.some((link) => plain === link || plain.startsWith(`${link}/`));
  return isBehindLink ? `/private${plain}` : plain;
}

/** A string of the profile language that means exactly the given text. */
export function quote(text: string): string {
  // Boundary: a quote or a backslash in a path would end the string and begin a rule.
  return `"${Array.from(text, escapeSign).join('')}"`;
}

/** The whole profile: denies everything, then allows what is named. */
export function profileText(terms: ProfileTerms): string {
  const rules = [
    '(version 1)',
    '(deny default)',
    ...processRules(),
    ...readRules(terms),
    ...writeRules(terms),
    ...serviceRules(terms),
    ...networkRules(terms),
    ...denials(terms),
  ];
  return `${rules.join('\n')}\n`;
}

function processRules(): string[] {
  return [
    '(allow process-fork)',
    '(allow process-info* (target same-sandbox))',
    '(allow signal (target same-sandbox))',
    '(allow sysctl-read)',
  ];
}

function readRules({ workspace, temporary, readOnly }: ProfileTerms): string[] {
  const trees = [...system.SYSTEM_READS.map(({ path }) => path), ...readOnly, workspace, temporary];
  const files = [...system.SYSTEM_FILES.map(({ path }) => path), ...system.DEVICES];
  const above = new Set([...system.SYSTEM_LINKS, ...trees.flatMap((path) => ancestorsOf(path))]);
  return [
    rule('allow file-read* file-map-executable process-exec', 'subpath', trees),
    rule('allow file-read*', 'literal', files),
    // A program looks at every directory above its own; what is in them stays hidden.
    rule('allow file-read-metadata', 'literal', [...above].sort()),
  ];
}

function writeRules({ workspace, temporary }: ProfileTerms): string[] {
  return [
    rule('allow file-write*', 'subpath', [workspace, temporary]),
    rule('allow file-write-data', 'literal', system.DEVICES),
    rule('allow file-ioctl', 'literal', ['/dev/dtracehelper']),
  ];
}

function serviceRules({ hasNetwork }: ProfileTerms): string[] {
  const services = hasNetwork ? [...system.SERVICES, ...system.NETWORK_SERVICES] : system.SERVICES;
  return [
    rule(
      'allow mach-lookup',
      'global-name',
      services.map(({ name }) => name),
    ),
  ];
}

function networkRules({ hasNetwork }: ProfileTerms): string[] {
  if (!hasNetwork) return [];
  return [
    '(allow system-socket)',
    '(allow network-outbound (remote ip))',
    '(allow network-bind (local ip))',
    '(allow network-inbound (local ip))',
    rule('allow network-outbound', 'literal', [system.RESOLVER_SOCKET]),
  ];
}

function denials({ workspace, temporary, protectedPaths, hasNetwork }: ProfileTerms): string[] {
  const services = hasNetwork ? system.DENIED_SERVICES : [...system.DENIED_SERVICES, ...system.NAME_SERVICES];
  return [
    // Boundary: a workspace that is moved aside would leave its place, and the rules for it, to something else.
    rule('deny file-write-unlink', 'literal', [workspace, temporary]),
    ...protectedPaths.flatMap((path) => protection(workspace, path)),
    // Boundary: files of the workspace with the rights of their owner would work for whoever starts them later.
    '(deny file-write-setugid)',
    rule(
      'deny mach-lookup',
      'global-name',
      services.map(({ name }) => name),
    ),
    ...(hasNetwork ? [] : ['(deny network*)']),
  ];
}

/** Denies writes to a path in any case of its letters, and moves of the directories above it. */
function protection(workspace: string, path: string): string[] {
  const here = `(subpath ${quote(workspace)})`;
  const above = ancestorsOf(path).map((directory) => `(regex #"/${anyCase(directory)}$")`);
  const moves = above.map((pattern) => `(deny file-write-unlink (require-all ${here} ${pattern}))`);
  return [`(deny file-write* (require-all ${here} (regex #"/${anyCase(path)}(/|$)")))`, ...moves];
}

function anyCase(path: string): string {
  return path.replaceAll(/[A-Za-z]|[. @-]/g, (sign) =>
    /[A-Za-z]/.test(sign) ? `[${sign.toLowerCase()}${sign.toUpperCase()}]` : `[${sign}]`,
  );
}

function rule(act: string, filter: string, values: readonly string[]): string {
  return `(${act}\n${values.map((value) => `  (${filter} ${quote(value)})`).join('\n')})`;
}

function escapeSign(sign: string): string {
  if (sign === '"' || sign === '\\') return `\\${sign}`;
  if (sign === '\n') return '\\n';
  const isControl = sign < ' ' || sign === '\x7f';
  return isControl ? `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}` : sign;
}
