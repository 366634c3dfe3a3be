import { quote, shellWord } from '../../../core/hostile-text.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { confirm, type Question, requireAnswerable } from '../ask.ts';
import { pageOf, textOf, wrongUsage } from '../input.ts';
import { finishUnread, withGateway } from '../opened.ts';
import { operateOn, operationVerb } from '../operate.ts';
import { counted, type Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/* `palisade storage`: what skills have stored is shown and deleted. Keys and values are texts of skills: never trusted. */

export const list = operationVerb(
  'listStorage',
  (invocation) => ({
    ...pageOf(invocation),
    skill: textOf(invocation, 'skill'),
    tenant: textOf(invocation, 'tenant'),
  }),
  ({ spaces, cursor }, { print }) => {
    print.table(
      ['TENANT', 'SKILL', 'KEYS', 'BYTES', 'INSTALLED'],
      spaces.map(({ tenant, skill, keys, bytes, installed }) => [
        ...[tenant, skill, keys, bytes, installed ? 'yes' : 'no'],
      ]),
      'Nothing is stored.',
    );
    print.more('palisade storage list --cursor', cursor);
  },
);

export async function show(invocation: Invocation): Promise<number> {
  const [, key] = invocation.args;
  if (key === undefined) return showKeys(invocation);
  if (invocation.flags.prefix !== undefined)
    throw wrongUsage('Cannot show a key and a prefix: expected KEY or --prefix PREFIX');
  return showValue(invocation);
}

const showKeys = operationVerb(
  'listStorageKeys',
  (invocation) => ({
    ...pageOf(invocation),
    skill: invocation.args[0],
    prefix: textOf(invocation, 'prefix'),
  }),
  ({ keys, cursor }, { print, args: [skill] }) => {
    print.table(
      ['KEY', 'VERSION', 'BYTES'],
      // Boundary: a key is quoted, so that spaces at its ends and what looks like a column are seen.
      keys.map(({ key, version, bytes }) => [quote(key), version, bytes]),
      'It has stored no such keys.',
    );
    print.more(`palisade storage show ${skill} --cursor`, cursor === null ? null : shellWord(cursor));
  },
);

const showValue = operationVerb(
  'getStorageValue',
  ({ args: [skill, key] }) => ({ skill, key }),
  (shown, { print }) => printValue(print, shown),
);

function printValue(print: Printer, shown: ResultOf<'getStorageValue'>): void {
  const { key, version, bytes, encoding, value, truncated } = shown;
  const what = encoding === 'base64' ? ', not UTF-8: shown in base64' : '';
  print.styled('bold', quote(key), `  version ${version}, ${counted(bytes, 'byte')}${what}`);
  print.block('  ', value);
  if (truncated) print.note('!', 'yellow', ' It is longer than what is shown.');
}

export async function remove(invocation: Invocation): Promise<number> {
  const { args, flags, print } = invocation;
  const [skill = '', key] = args;
  const prefix = textOf(invocation, 'prefix');
  const named = [key, prefix, flags.all === true || undefined].filter((each) => each !== undefined);
  if (named.length !== 1)
    throw wrongUsage('Cannot delete: expected exactly one of KEY, --prefix PREFIX and --all');
  const what =
    flags.all === true ? 'everything' : key === undefined ? `all beneath ${quote(prefix ?? '')}` : quote(key);
  const question: Question = {
    act: `delete what ${quote(skill)} has stored`,
    question: `Type the id of the skill to delete ${what} that it has stored`,
    answer: skill,
    needs: ['yes'],
  };
  requireAnswerable(invocation, question);
  finishUnread(invocation);
  return withGateway(invocation, async (gateway) => {
    await confirm(invocation, question);
    const input = { skill, key, prefix, all: flags.all };
    const emptied = await operateOn(invocation, gateway, 'deleteStorage', input);
    return print.result(emptied, () => {
      const { keys, bytes } = emptied;
      if (keys === 0) print.line('Nothing was stored there.');
      else print.note('deleted', 'green', `  ${counted(keys, 'key')} with ${bytes} bytes of ${skill}`);
    });
  });
}
