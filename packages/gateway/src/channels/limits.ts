/** What channels keep in memory at most. */
export const CHANNEL_LIMITS = {
  messageBytes: 65_536,
  /** Of one subscriber who does not receive. */
  queueMessages: 256,
  queueBytes: 1_048_576,
  /** Of all queues of a tenant: subscribers who sleep must not fill the memory of the gateway. */
  tenantBytes: 67_108_864,
  channelsPerTenant: 1_024,
  subscribersPerTenant: 4_096,
  /** A timer takes no longer time; the deadline of a call ends a wait long before. */
  waitMs: 2_147_483_647,
} as const;
