import { readAsks } from '../capabilities/kinds.ts';
import { type Checked, isSet, numberIn, schemaIn, tableIn, tablesIn, textIn, textOf } from './checked.ts';
import type { Manifest, ManifestBuild, ManifestTool } from './manifest.ts';

/** The manifest of a file without problems; the table of keys has filled in the defaults. */
export function buildManifest(file: Checked): Manifest {
  const asks = tableIn(file, 'capabilities');
  const quotas = tableIn(asks, 'quotas');
  const trust = tableIn(file, 'trust');
  return {
    id: textOf(file, 'skill_id'),
    name: textOf(file, 'name'),
    version: textOf(file, 'version'),
    publisher: textOf(file, 'publisher'),
    description: textOf(file, 'description'),
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
      name: textOf(part, 'name'),
      version: textOf(part, 'version'),
      purl: textIn(part, 'purl'),
      license: textIn(part, 'license'),
    })),
    build: file.build !== undefined ? buildOf(tableIn(file, 'build')) : null,
  };
}

function buildTool(tool: Checked): ManifestTool {
  const annotations = tableIn(tool, 'annotations');
  return {
    id: textOf(tool, 'id'),
    name: textOf(tool, 'name'),
    description: textOf(tool, 'description'),
    risk: textOf(tool, 'risk') as ManifestTool['risk'],
    module: textOf(tool, 'module'),
    export: textOf(tool, 'export'),
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
    language: textOf(build, 'language') as ManifestBuild['language'],
    modules: tablesIn(build, 'modules').map((each) => ({
      source: textOf(each, 'source'),
      module: textOf(each, 'module'),
    })),
  };
}
