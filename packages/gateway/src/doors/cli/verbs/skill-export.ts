import { once } from 'node:events';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import { textOf, wrongUsage } from '../input.ts';
import { replaceFile } from '../out-file.ts';
import { parseReference } from '../skill/operate/reference.ts';
import type { Invocation } from '../verb.ts';

/** Gives the very bytes of an installed package; they are compared with their digest before the first one is written. */
export async function run(invocation: Invocation): Promise<number> {
  const { args, print, edge } = invocation;
  const named = parseReference(args[0] ?? '');
  const path = textOf(invocation, 'out');
  if (path === undefined && edge.stdout.isTTY === true)
    throw wrongUsage('Cannot print a package: standard output is a terminal, expected --out FILE or a pipe');
  const gateway = await invocation.openGateway();
  try {
    const { id, version, artifact } = requireSkill(gateway.store, named, ['active']);
    const bytes = gateway.skills.artifacts.read(artifact);
    if (path === undefined) {
      if (!edge.stdout.write(bytes)) await once(edge.stdout, 'drain');
      return 0;
    }
    replaceFile(path, bytes);
    if (print.json) print.document({ id, version, artifact, file: path, bytes: bytes.length });
    else
      print.note(
        'exported',
        'green',
        `  ${id}@${version} to ${path}, ${bytes.length} bytes, sha256 ${artifact}`,
      );
    return 0;
  } finally {
    await gateway.close();
  }
}
