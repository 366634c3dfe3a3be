/** The names of the meter's exports and imports; a guest may have none like them. */
export const CONTROL_PREFIX = 'palisade:';
export const CONTROL_MODULE = 'palisade';
