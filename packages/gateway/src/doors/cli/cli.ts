import { resolve } from 'node:path';
import { chooseStateDir } from '../../config/environment.ts';
import { printHelp, printOverview } from './help.ts';
import { type Parsed, parseCommandLine, wordsBeforeEnd } from './parse.ts';
import { Printer, printError } from './printer.ts';
import type { Edge, Invocation } from './verb.ts';

/*
 * The command line: one of the doors. It reads the arguments against the table of verbs, loads the one verb that they
 * name, and gives the exit status of the code table. Only what the verb needs is loaded and opened.
 */

/** Runs one command line; never throws. */
export async function runCommandLine(edge: Edge): Promise<number> {
  const words = wordsBeforeEnd(edge.argv);
  const json = words.includes('--json');
  const colour = edge.stdout.isTTY === true && !edge.env.noColor && !words.includes('--no-color');
  const print = new Printer({ out: edge.stdout, err: edge.stderr, json, colour });
  // A closed standard error changes nothing about what is done.
  edge.stderr.on('error', () => undefined);
  try {
    const parsed = parseCommandLine(edge.argv);
    if (parsed.verb === null) {
      printOverview(print, parsed.words);
      return 0;
    }
    if (parsed.flags.help === true) {
      printHelp(print, parsed.verb);
      return 0;
    }
    const run = await parsed.verb.load();
    return await run(invocationOf(edge, parsed, print));
  } catch (error) {
    return printError(print, error);
  }
}

function invocationOf(edge: Edge, { args, rest, flags }: Parsed, print: Printer): Invocation {
  const flag = typeof flags.state === 'string' ? flags.state : undefined;
  const stateDir = chooseStateDir({ flag, env: edge.env, cwd: edge.cwd });
  // What the owner of the state directory names on the command line is granted.
  const textsOf = (name: string) => [flags[name] ?? []].flat().filter((text) => typeof text === 'string');
  const pathsOf = (name: string) => textsOf(name).map((path) => resolve(edge.cwd, path));
  const options = {
    ...{ stateDir: stateDir.path, env: edge.env, version: edge.version, cwd: edge.cwd },
    workspaces: pathsOf('workspace'),
    readOnly: pathsOf('read-only'),
    toolHomes: textsOf('tool-homes'),
  };
  return {
    args,
    rest,
    flags,
    print,
    edge,
    stateDir,
    signal: edge.signal,
    openRecords: () => edge.openRecords(options),
    openGateway: (more = {}) => edge.openGateway({ ...options, ...more }),
  };
}
