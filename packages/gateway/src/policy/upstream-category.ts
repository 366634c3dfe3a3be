/** The category of upstream servers and of the tools that they offer; they come and go, so a check cannot list them. */
export const UPSTREAM_CATEGORY = 'upstream';
