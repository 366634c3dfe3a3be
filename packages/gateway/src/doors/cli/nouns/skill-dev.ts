import { principalOf, readInput, textOf, wrongUsage } from '../input.ts';
import { withGateway } from '../opened.ts';
import { DevReport } from '../skill/dev-report.ts';
import { type DevBench, DevSession, statusOf } from '../skill/dev-session.ts';
import { folderOf, manifestBytes } from '../skill/folder.ts';
import type { Invocation } from '../verb.ts';

/** Builds, checks and tests a skill after each change of its folder, until Ctrl-C; once with --once. */
export async function dev(given: Invocation): Promise<number> {
  const stop = new AbortController();
  const invocation = { ...given, signal: AbortSignal.any([given.signal, stop.signal]) };
  // When no one reads the output any more, the jails and folders of the session are still taken away.
  invocation.edge.whenUnread(() => stop.abort());
  principalOf(invocation);
  const folder = folderOf(invocation);
  // A folder that is not the one of a skill is a mistake of the command, not of a round.
  manifestBytes(folder);
  const call = await callOf(invocation);
  const isOnce = invocation.flags.once === true;
  const withCapabilities = invocation.flags['with-capabilities'] === true;
  const report = new DevReport(invocation.print);
  return withGateway(invocation, async (gateway) => {
    const session = new DevSession({ invocation, gateway, folder, report, withCapabilities, call });
    try {
      if (!isOnce) report.watching(folder);
      return statusOf(await session.run(isOnce));
    } finally {
      await session.close();
    }
  });
}

/** The tool of --call with the value of --input. */
async function callOf(invocation: Invocation): Promise<DevBench['call']> {
  const tool = textOf(invocation, 'call');
  if (tool === undefined) {
    if (invocation.flags.input === undefined) return null;
    throw wrongUsage('Cannot use --input: there is no call, expected --call TOOL with it');
  }
  const input = await readInput(invocation);
  return { tool, inputText: typeof input === 'string' ? input : Buffer.from(input).toString('utf8') };
}
