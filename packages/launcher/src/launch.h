/* One launch, from its arguments to the exit status that represents the command. */
#pragma once

int launch(int count, char **arguments);
