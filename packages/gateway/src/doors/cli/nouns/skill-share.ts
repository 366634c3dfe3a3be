import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { shellWord } from '../../../core/hostile-text.ts';
import { type Result, sentenceOf } from '../../../core/result.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { type SearchedSkills, searchRegistry } from '../../../invoke/skills/search-registry.ts';
import {
  packageFileName,
  pullSkill,
  pushSkill,
  rememberTag,
  type SharedSkill,
} from '../../../invoke/skills/share.ts';
import type { Acting } from '../../../invoke/skills/skill-acts.ts';
import { parseReference, parseRegistry } from '../../../oci/reference.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { textOf, wrongUsage } from '../input.ts';
import { actAs } from '../opened.ts';
import { operateOn } from '../operate.ts';
import { replaceFile } from '../out-file.ts';
import { counted, type Printer } from '../printer.ts';
import { readLogin } from '../skill/login.ts';
import { readPackageFile } from '../skill/package-file.ts';
import { withTransfer } from '../skill/transfer.ts';
import type { Invocation } from '../verb.ts';

/* Skills in registries. Each of these commands names the registry, so that no other is ever reached. */

export async function push(invocation: Invocation): Promise<number> {
  const { args, flags, print, signal } = invocation;
  const reference = orWrongUsage(parseReference(args[1] ?? ''));
  if (args[0] === '-' && flags.login === true)
    throw wrongUsage(
      'Cannot read the package and the log-in from standard input: expected a FILE, or a secret of the vault',
    );
  const bytes = await readPackageFile(invocation, args[0] ?? '');
  const login = await readLogin(invocation, reference.registry);
  return actAs(invocation, async (gateway, acting) => {
    const pushing = { ...acting, ...login, bytes, reference, signal, moveTag: flags['move-tag'] === true };
    const pushed = await withTransfer(invocation, 'pushing', (onProgress) =>
      pushSkill(gateway, { ...pushing, onProgress }),
    );
    return print.result({ ...documentOf(pushed), isNew: pushed.isNew }, () => {
      const { id, version } = pushed.pkg.manifest;
      print.styled(
        'green',
        pushed.isNew ? 'pushed' : 'already there',
        `  ${id} ${version} as ${pushed.reference}`,
      );
      printDigests(print, pushed);
      print.next(`palisade skill install ${pushed.reference.replace(/:[^:/]*$/, '')}@${pushed.digest}`);
    });
  });
}

export async function pull(invocation: Invocation): Promise<number> {
  const { args, edge, print } = invocation;
  const named = textOf(invocation, 'out');
  return pullThen(invocation, args[0] ?? '', async (pulled, gateway, acting) => {
    const file = named ?? packageFileName(pulled.pkg);
    const path = resolve(edge.cwd, file);
    // Boundary: the name of the file comes from a package, which replaces nothing that the operator did not name.
    if (named === undefined && lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw wrongUsage(`Cannot write "${file}": it is there already, expected --out FILE`);
    replaceFile(path, pulled.bytes);
    await rememberTag(gateway, acting, pulled);
    return print.result({ ...documentOf(pulled), file }, () => {
      const { id, version } = pulled.pkg.manifest;
      print.styled('green', 'pulled', `  ${id} ${version} into ${file}, ${pulled.bytes.length} bytes`);
      printDigests(print, pulled);
      print.next(
        `palisade skill inspect ${shellWord(file)}   then   palisade skill install ${shellWord(file)}`,
      );
    });
  });
}

/** Pulls a package and installs it, which is decided like for a file; the tag is remembered when that succeeded. */
export async function installFrom(invocation: Invocation, show: Shown): Promise<number> {
  const { args, flags, print } = invocation;
  return pullThen(invocation, args[0] ?? '', async (pulled, gateway, acting) => {
    const { reference, digest, bytes } = pulled;
    if (!print.json) print.note('pulled', 'dim', `  ${reference}, ${digest}`);
    const allowDowngrade = flags['allow-downgrade'] === true;
    const input = { package: bytes, allowDowngrade };
    const installed = await operateOn(invocation, gateway, 'installSkill', input);
    await rememberTag(gateway, acting, pulled);
    return print.result({ ...installed, from: { reference, digest } }, () => show(print, installed));
  });
}

type Shown = (print: Printer, installed: ResultOf<'installSkill'>) => void;
type Then = (pulled: SharedSkill, gateway: Opened<Gateway>, acting: Acting) => Promise<number>;

/** Pulls the package of a reference on the command line, and does something with it. */
async function pullThen(invocation: Invocation, given: string, act: Then): Promise<number> {
  const { flags, signal } = invocation;
  const reference = orWrongUsage(parseReference(given));
  const login = await readLogin(invocation, reference.registry);
  return actAs(invocation, async (gateway, acting) => {
    const pulling = { ...acting, ...login, reference, signal, acceptMoved: flags['accept-moved'] === true };
    const pulled = await withTransfer(invocation, 'pulling', (onProgress) =>
      pullSkill(gateway, { ...pulling, onProgress }),
    );
    return act(pulled, gateway, acting);
  });
}

export async function search(invocation: Invocation): Promise<number> {
  const { args, print, signal } = invocation;
  const [place = '', word = ''] = args;
  const isRepository = place.replace(/^oci:\/\//, '').includes('/');
  const repository = isRepository ? orWrongUsage(parseReference(place)) : null;
  if (repository !== null && (repository.tag ?? repository.digest) !== null)
    throw wrongUsage(`Cannot search "${place}": it names one skill, expected HOST or HOST/NAME`);
  const registry = repository?.registry ?? orWrongUsage(parseRegistry(place));
  const login = await readLogin(invocation, registry);
  return actAs(invocation, async (gateway, acting) => {
    const name = repository?.name ?? null;
    const found = await searchRegistry(gateway, { ...acting, ...login, registry, name, word, signal });
    const { others, malformed, isCut } = found;
    const document = { skills: found.skills.map(skillDocument), others, malformed, isCut };
    return print.result(document, () => printFound(print, found, word));
  });
}

function skillDocument({ text, digest, claims, layer }: SearchedSkills['skills'][number]) {
  return { reference: text, digest, ...claims, bytes: layer.bytes };
}

function printFound(
  print: Printer,
  { skills, others, malformed, isCut }: SearchedSkills,
  word: string,
): void {
  const rows = skills.map(({ text, claims, digest }) => [
    ...[text, claims.id || null, claims.version || null, claims.publisher || null],
    ...[digest.slice('sha256:'.length, 'sha256:'.length + 12), claims.description || null],
  ]);
  const none = word === '' ? 'The registry lists no skill.' : `The registry lists no skill with "${word}".`;
  print.table(['REFERENCE', 'ID', 'VERSION', 'PUBLISHER', 'DIGEST', 'DESCRIPTION'], rows, none);
  if (skills.length > 0)
    print.note('These are claims of those who pushed them; a package is checked when it is pulled.', 'dim');
  if (others > 0)
    print.note(`Left out: ${counted(others, 'reference')} to something that is not a skill.`, 'dim');
  if (malformed > 0) print.note('!', 'yellow', ` ${counted(malformed, 'malformed name')} left out`);
  if (isCut) print.note('!', 'yellow', ' there is more than is shown; name a repository: HOST/NAME');
}

function printDigests(print: Printer, { digest, pkg, movedFrom }: SharedSkill): void {
  const { artifact, signer, manifest } = pkg;
  print.facts([
    ['digest', digest],
    ['package', `sha256:${artifact}`],
    ['publisher', manifest.publisher],
    ['signed by', signer === null ? 'no one' : signer.keyId],
  ]);
  if (movedFrom !== null) print.note('!', 'yellow', ` the tag was moved; it stood for ${movedFrom}`);
}

function documentOf({ reference, digest, pkg, movedFrom, bytes }: SharedSkill) {
  const { artifact, manifest, signer } = pkg;
  const { id, version, publisher } = manifest;
  const signedBy = signer === null ? null : signer.keyId;
  return {
    reference,
    digest,
    movedFrom,
    skill: id,
    version,
    publisher,
    signedBy,
    artifact,
    bytes: bytes.length,
  };
}

function orWrongUsage<T>(read: Result<T>): T {
  if (read.ok) return read.value;
  throw wrongUsage(sentenceOf(read.problem));
}
