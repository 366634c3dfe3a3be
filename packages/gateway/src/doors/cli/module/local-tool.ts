import { basename } from 'node:path';
import { digestBytes } from '../../../core/digest.ts';
import { LIMIT_CEILINGS, type Limits } from '../../../core/limits.ts';
import type { Tool } from '../../../core/tool.ts';
import type { WasmGrants } from '../../../core/wasm.ts';
import { capabilitiesOf, hostsOf, riskOf, spellGrants } from '../../../registry/skill-tool.ts';
import type { ModuleFile } from './file.ts';

/** What `palisade wasm run` says of the module that it runs. */
export type LocalRun = {
  readonly file: ModuleFile;
  readonly exportName: string;
  readonly grants: WasmGrants;
  /** Those that were asked for; the others are as configured. */
  readonly limits: Partial<Pick<Limits, 'fuel' | 'memoryBytes'>>;
  readonly schemas: Pick<Tool, 'inputSchema' | 'outputSchema'>;
  readonly isRecorded: boolean;
};

const LOCAL = 'local';
/** Together with the word in front they stay within the grammar of tools. */
const [MOST_NAME_CHARS, MOST_EXPORT_CHARS] = [48, 64];

/**
 * A tool that is an export of a file. It says nothing of what it takes or gives, so its schemas are open unless others are
 * given; who may run it is for the policies, which see what was granted. The bytes are those that were read, whatever becomes of the file.
 */
export function localTool(run: LocalRun): Tool {
  const { file, exportName, grants, limits, schemas, isRecorded } = run;
  const name = plainName(basename(file.name).replace(/\.wasm$/i, ''), MOST_NAME_CHARS);
  const skill = `${LOCAL}.${name}`;
  const sha256 = digestBytes(file.bytes);
  const granted = spellGrants(grants);
  return {
    id: `${skill}.${plainName(exportName, MOST_EXPORT_CHARS)}`,
    // An approval is bound to it, and so to every word of the grants.
    description: `The export ${JSON.stringify(exportName)} of a file, granted ${granted.length === 0 ? 'nothing' : JSON.stringify(granted)}${isRecorded ? '' : ', not recorded'}.`,
    category: 'wasm',
    risk: riskOf(grants),
    ...schemas,
    capabilities: capabilitiesOf(grants),
    tier: 'a',
    limits: { ...LIMIT_CEILINGS, ...limits },
    hosts: () => hostsOf(grants),
    paths: () => [],
    artifacts: [{ name: `${name}.wasm`, sha256 }],
    executor: {
      kind: 'wasm',
      program: { skill, sha256, read: async () => file.bytes, exportName, grants, isRecorded },
    },
  };
}

/** The nearest name of letters, digits, `_` and `-`; a dot would look like another part of the id. */
function plainName(text: string, mostChars: number): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, mostChars);
  return plain.replace(/^[-_]+|[-_]+$/g, '') || 'module';
}
