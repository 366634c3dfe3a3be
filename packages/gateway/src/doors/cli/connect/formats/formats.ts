import type { Client } from '../client.ts';
import type { Format } from './format.ts';
import { json } from './json.ts';
import { toml } from './toml.ts';
import { yaml } from './yaml.ts';

export const FORMATS: Readonly<Record<Client['format'], Format>> = { json, jsonc: json, yaml, toml };

/** What messages call the language of a file. */
export const FORMAT_NAMES: Readonly<Record<Client['format'], string>> = {
  json: 'JSON',
  jsonc: 'JSON',
  yaml: 'YAML',
  toml: 'TOML',
};
