/** What the meter's exports and imports are called; nothing of a guest's own is. */
export const CONTROL_PREFIX = 'palisade:';
export const CONTROL_MODULE = 'palisade';
