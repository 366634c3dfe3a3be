import { join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { checkSettings, type Settings } from './check.ts';
import type { Config, ConfigFile } from './config.ts';
import { fillGaps } from './fill-gaps.ts';
import { findPlaces } from './places.ts';
import { ConfigProblem } from './problem.ts';
import { invalidConfig, readConfigFile } from './read-file.ts';

/*
 * palisade.toml → Config. The file is the operator's, so it is trusted in what it wants and in nothing else: an unknown
 * key, a wrong type or a number out of range is an error with its line, never a default. All is checked before anything
 * starts; a Config has no gaps. This room writes nothing and remembers nothing.
 */

export const CONFIG_FILE = 'palisade.toml';
/** Lists of budgets and secrets are three levels deep at most; the rest is room for a better message. */
const MAX_INLINE_DEPTH = 16;

type Source = { readonly stateDir: string; readonly configPath?: string | undefined };

/** Gives the whole configuration or throws `config/invalid`. A file that is named must exist; the usual one need not. */
export async function loadConfig({ stateDir, configPath }: Source): Promise<Config> {
  const file = readConfigFile(configPath ?? join(stateDir, CONFIG_FILE));
  if (file === null && configPath !== undefined) {
    const what = `Cannot read ${JSON.stringify(configPath)}: there is no such file, expected the configuration`;
    throw invalidConfig(CONFIG_FILE, undefined, what);
  }
  return configOf(file);
}

/** The configuration that a file says, which was read already; null: there is none. */
export async function configOf(file: ConfigFile | null): Promise<Config> {
  return file === null ? fillGaps(checkSettings({}), null) : fillGaps(await readSettings(file), file);
}

async function readSettings(file: ConfigFile): Promise<Settings> {
  const raw = parseToml(file);
  try {
    return checkSettings(raw);
  } catch (problem) {
    if (!(problem instanceof ConfigProblem)) throw problem;
    const placeOf = await findPlaces(file.text);
    throw invalidConfig(file.name, placeOf(problem.path, problem.at), problem.message);
  }
}

function parseToml(file: ConfigFile): unknown {
  try {
    return parse(file.text, { integersAsBigInt: true, maxDepth: MAX_INLINE_DEPTH });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
    throw invalidConfig(
      file.name,
      error,
      `Cannot read the file: it is no TOML (${summary}), expected valid TOML`,
    );
  }
}
