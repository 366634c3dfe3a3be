/* One launch, from its arguments to the exit status that stands for the command. */
#pragma once

int launch(int count, char **words);
