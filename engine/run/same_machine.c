#include "engine/run/same_machine.h"

#include "engine/net/socket.h"

bool sti_url_is_on_this_machine(const char *url)
{
    sti_url parsed;
    return sti_url_parse(url, &parsed) == STRADS_OK && sti_url_is_here(&parsed);
}
