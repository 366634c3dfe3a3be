import { z } from 'zod';
import { anyJson, limits, risk, sha256, tierName } from './parts.ts';

export const toolRow = z
  .object({ id: z.string(), description: z.string(), risk, tier: tierName })
  .meta({ id: 'ToolRow' });

/** The document of `palisade tools show --json`. */
export const tool = toolRow
  .extend({
    category: z.string(),
    capabilities: z.array(z.string()),
    limits,
    inputSchema: z.record(z.string(), anyJson),
    outputSchema: z.record(z.string(), anyJson),
    artifacts: z.array(z.object({ name: z.string(), sha256 })),
    title: z.string().optional(),
    annotations: z
      .object({
        readOnly: z.boolean(),
        destructive: z.boolean(),
        idempotent: z.boolean(),
        openWorld: z.boolean(),
      })
      .optional(),
    skill: z
      .object({
        id: z.string(),
        version: z.string(),
        publisher: z.string(),
        trust: z.enum(['operator', 'first-use']),
      })
      .optional(),
  })
  .meta({ id: 'Tool' });
