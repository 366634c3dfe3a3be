import type { Wire } from '@palisade/sdk';
import { CHANNEL_LIMITS } from '../../../channels/queue.ts';
import { boundOf, numberOf, readNamed, textOf, wrongUsage } from '../input.ts';
import { withGateway } from '../opened.ts';
import { operateOn, operationVerb } from '../operate.ts';
import type { Printer } from '../printer.ts';
import { counted } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/* `palisade channel`: what skills send to each other is heard, and they are told something. */

type Message = Wire.ChannelMessage;

const BOUND = boundOf(CHANNEL_LIMITS.messageBytes, `, expected at most ${CHANNEL_LIMITS.messageBytes}`);

export const list = operationVerb(
  'listChannels',
  () => ({}),
  ({ channels, silent }, { print }) => {
    print.table(
      ['CHANNEL', 'SUBSCRIBERS'],
      channels.map(({ channel, subscribers }) => [channel, subscribers]),
      'No channel has a subscriber.',
    );
    noteSilent(print, silent);
  },
);

export const publish = operationVerb(
  'publishMessage',
  async (invocation) => ({ channel: invocation.args[0], message: await messageOf(invocation) }),
  ({ channel, bytes, taken, full, silent }, { print }) => {
    print.note(
      'published',
      'green',
      `  ${counted(bytes, 'byte')} on ${channel}: ${counted(taken, 'subscriber')} took it`,
    );
    if (full > 0) print.note('!', 'yellow', ` ${counted(full, 'subscriber')} missed it: the queue is full`);
    noteSilent(print, silent);
    if (taken + full + silent === 0) print.note('!', 'yellow', ' No one listens, so it is lost.');
  },
);

function noteSilent(print: Printer, silent: number): void {
  if (silent === 0) return;
  print.note(
    '!',
    'yellow',
    ` ${counted(silent, 'process')} of this state directory did not answer; its subscribers are not counted`,
  );
}

/** `-` is standard input, `@FILE` a file, as for the input of calls; anything else is the message itself. */
async function messageOf(invocation: Invocation): Promise<Uint8Array> {
  const text = textOf(invocation, 'message');
  if (text === undefined)
    throw wrongUsage(
      'Cannot publish the message: it is missing, expected --message TEXT, @FILE, or - for standard input',
    );
  if (text === '-') return readNamed(invocation, text, BOUND);
  return text.startsWith('@') ? readNamed(invocation, text.slice(1), BOUND) : Buffer.from(text);
}

/** Prints what is published until Ctrl-C, or as many messages as are wanted. */
export async function listen(invocation: Invocation): Promise<number> {
  const { args, print, signal } = invocation;
  let left = numberOf(invocation, 'count', {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    absent: Number.MAX_SAFE_INTEGER,
  });
  return withGateway(invocation, async (gateway) => {
    const { events } = await operateOn(invocation, gateway, 'listenToChannel', { channel: args[0] });
    for await (const { event, data } of events) {
      if (signal.aborted) break;
      if (event === 'listening') {
        print.note('listening', 'green', `  to ${args[0]}; Ctrl-C ends it`);
        continue;
      }
      printMessage(print, data as unknown as Message);
      left -= 1;
      if (left === 0) break;
    }
    return 0;
  });
}

function printMessage(print: Printer, message: Message): void {
  if (print.json) {
    print.document(message);
    return;
  }
  const { at, sender, missed, encoding, message: text } = message;
  if (missed > 0) print.note('!', 'yellow', ` ${counted(missed, 'message')} missed before the next one`);
  const from = sender.skill === null ? sender.principal : `${sender.skill} (${sender.principal})`;
  print.block(`${at}  ${from}  `, encoding === 'utf-8' ? text : `base64: ${text}`);
}
