import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../core/coded-error.ts';
import { openSkills } from '../../invoke/skills/audit.ts';
import type { ToolsOf } from '../../policy/parse.ts';
import { BUILTIN_TOOLS } from '../../registry/builtin.table.ts';
import { processTool } from '../../registry/process-tool.ts';
import { Registry } from '../../registry/registry.ts';
import type { Invocation } from './verb.ts';

/** Where there is none, nothing was ever installed. */
const DATABASE = 'palisade.db';
/** What every gateway has; of the tool for commands only its shape is looked at. */
const STANDING = [...BUILTIN_TOOLS, processTool(neverRun, neverRun)];

/**
 * Hands a check the tools that policies can be about: those that always stand, and of the installed skills those that a
 * text names. A state directory that is not there is not made for it, one that cannot be opened has no skills to tell of,
 * and in none of them are policies activated.
 */
export async function withKnownTools<T>(invocation: Invocation, act: (toolsOf: ToolsOf) => T): Promise<T> {
  const { stateDir, print } = invocation;
  if (!existsSync(join(stateDir.path, DATABASE))) return act(() => STANDING);
  let records: Awaited<ReturnType<Invocation['openRecords']>>;
  try {
    records = await invocation.openRecords();
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    if (!print.json) print.note('!', 'yellow', ` the tools of skills are not known: ${error.message}`);
    return act(() => STANDING);
  }
  const { config, close } = records;
  const { room, tools: skills } = openSkills(records, config, stateDir.path);
  try {
    const { input, limits, ceilings } = config;
    const loadSchemas = () =>
      Promise.reject(new TypeError('Cannot compile a schema: nothing is called here'));
    const registry = new Registry({ tools: STANDING, skills, input, limits, ceilings, loadSchemas });
    return act((named) => registry.named(named));
  } finally {
    room.running.close();
    await close();
  }
}

function neverRun(): never {
  throw new TypeError('Cannot run a command: policies are only checked here');
}
