import { resolve } from 'node:path';
import { digestBytes } from '../../../core/digest.ts';
import { signPackage } from '../../../skills/package/pack.ts';
import { textOf, wrongUsage } from '../input.ts';
import { replaceFile } from '../out-file.ts';
import { shellWord } from '../shell-word.ts';
import { makeKeyFile, publicFileOf, readKeyFile } from '../skill/key-file.ts';
import { openNamedPackage } from '../skill/package-file.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags, edge, print } = invocation;
  const given = textOf(invocation, 'key');
  if (given === undefined) throw wrongUsage('Cannot sign: there is no key, expected --key FILE');
  if (args[0] === '-' && flags.out === undefined)
    throw wrongUsage('Cannot sign: the package comes on standard input, expected --out FILE');
  const keyPath = resolve(edge.cwd, given);
  // What cannot be read is not signed, and no key is made for it either.
  const { name, bytes, pkg } = await openNamedPackage(invocation, args[0] ?? '');
  const isNew = flags['new-key'] === true;
  const key = isNew ? makeKeyFile(keyPath, edge.clock.nowMs()) : readKeyFile(keyPath);
  const signed = signPackage(bytes, key);
  const out = textOf(invocation, 'out') ?? name;
  replaceFile(resolve(edge.cwd, out), signed);
  const { id, version } = pkg.manifest;
  const { keyId } = key;
  const publicKey = isNew ? publicFileOf(given) : null;
  if (print.json) {
    const artifact = digestBytes(signed);
    print.document({ file: out, skill: id, version, keyId, publicKey, bytes: signed.length, artifact });
    return 0;
  }
  print.styled('green', 'signed', `  ${id} ${version} in ${out}`);
  print.line(`  key ${keyId}`);
  print.line(`  ${signed.length} bytes, sha256 ${digestBytes(signed)}`);
  if (publicKey !== null)
    print.note(`Keep ${given} to yourself, and give ${publicKey} to those who are to trust it.`);
  print.note('→', 'cyan', ` palisade skill inspect ${shellWord(out)}`);
  return 0;
}
