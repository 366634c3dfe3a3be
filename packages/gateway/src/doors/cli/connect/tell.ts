import { ACTIVE } from '../../../core/hostile-text.ts';
import { shellWord } from '../printer.ts';
import type { Invocation } from '../verb.ts';
import type { Client } from './client.ts';
import type { Done } from './connect-client.ts';

/** Says what was done to the file of a client, and what is to be done next. */
export async function tellDone({ print }: Invocation, client: Client, done: Done): Promise<void> {
  if (print.json) return print.document(done);
  const { status, server, file, backup, token, restored, notes, dryRun, diff } = done;
  if (dryRun) {
    await print.exact(inertLines(diff));
    print.note('Nothing was written.', 'yellow', diff === '' ? ` ${client.name}: ${status}.` : '');
  } else {
    const isSame = backup === null && diff === '';
    print.styled(isSame ? 'dim' : 'green', status, `  ${client.name}: ${server} in ${file}`);
    for (const each of restored) print.line(`  ${each} is started as before`);
    if (backup !== null) print.line(`  the file as it was: ${backup}`);
    if (token !== null)
      print.line(
        token.expiresAt === null
          ? `  revoked ${token.id}`
          : `  made ${token.id}, good until ${token.expiresAt}`,
      );
  }
  for (const note of notes) print.note('!', 'yellow', ` ${note}`);
  if (dryRun || diff === '') return;
  print.note('→', 'cyan', ` ${client.next}`);
  if (status === 'connected')
    print.note('→', 'cyan', ` to go back: palisade disconnect ${shellWord(client.id)}`);
}

/** Boundary: a file of somebody else's project is shown, and the terminal obeys none of it. Tabs stay, for `patch`. */
function inertLines(text: string): string {
  return text.replace(ACTIVE, (char) =>
    char === '\n' || char === '\t' || char === '\r'
      ? char
      : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
