import { readAsks } from '../capabilities/kinds.ts';
import { type Checked, flagIn, numberIn, schemaIn, tableIn, tablesIn, textIn } from './checked.ts';
import type { Manifest, ManifestBuild, ManifestTool } from './manifest.ts';

/** The manifest of a file without problems; the table of keys has filled in the defaults. */
export function buildManifest(file: Checked): Manifest {
  const asks = tableIn(file, 'capabilities');
  const quotas = tableIn(asks, 'quotas');
  const trust = tableIn(file, 'trust');
  return {
    id: text(file, 'skill_id'),
    name: text(file, 'name'),
    version: text(file, 'version'),
    publisher: text(file, 'publisher'),
    description: text(file, 'description'),
    license: textIn(file, 'license'),
    homepage: textIn(file, 'homepage'),
    tools: tablesIn(tableIn(file, 'entrypoints'), 'tools').map(buildTool),
    asks: readAsks(asks),
    quotas: {
      wallMs: numberIn(quotas, 'wall_clock_ms'),
      fuel: numberIn(quotas, 'fuel'),
      memoryBytes: numberIn(quotas, 'memory_bytes'),
    },
    trust: { reviewers: numberIn(trust, 'reviewers') ?? 1, reauditDays: numberIn(trust, 'reaudit_days') },
    compat: { abi: 1, palisadeMin: textIn(tableIn(file, 'compat'), 'palisade_min') },
    components: tablesIn(file, 'components').map((part) => ({
      name: text(part, 'name'),
      version: text(part, 'version'),
      purl: textIn(part, 'purl'),
      license: textIn(part, 'license'),
    })),
    build: file.build !== undefined ? buildOf(tableIn(file, 'build')) : null,
  };
}

function buildTool(tool: Checked): ManifestTool {
  const annotations = tableIn(tool, 'annotations');
  return {
    id: text(tool, 'id'),
    name: text(tool, 'name'),
    description: text(tool, 'description'),
    risk: text(tool, 'risk') as ManifestTool['risk'],
    module: text(tool, 'module'),
    export: text(tool, 'export'),
    inputSchema: schemaIn(tool, 'input_schema') ?? {},
    outputSchema: schemaIn(tool, 'output_schema') ?? {},
    annotations: {
      readOnly: isSet(annotations, 'read_only'),
      destructive: isSet(annotations, 'destructive'),
      idempotent: isSet(annotations, 'idempotent'),
      openWorld: isSet(annotations, 'open_world'),
    },
  };
}

function buildOf(build: Checked): ManifestBuild {
  return {
    language: text(build, 'language') as ManifestBuild['language'],
    modules: tablesIn(build, 'modules').map((each) => ({
      source: text(each, 'source'),
      module: text(each, 'module'),
    })),
  };
}

function text(table: Checked, name: string): string {
  return textIn(table, name) ?? '';
}

function isSet(table: Checked, name: string): boolean {
  return flagIn(table, name) === true;
}
