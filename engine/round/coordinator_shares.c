/* Whose turn it is. Schedulers get turns in proportion to what their ranges
 * have left (`mass`), an eighth of an even share at least: so the one who has
 * next to nothing left does not have as many rounds as the one who has nearly
 * all. Each passing gives everybody his share of a turn, and the turn goes to
 * who is owed most and pays for it; with even shares they take turns in their
 * order.
 *
 * A mass is as old as the scheduler's last answer that was looked at, whenever
 * that came: so a run can be repeated. */
#include "engine/round/coordinator_state.h"

#include <math.h>

static const double LEAST = 1.0 / 8;

bool sti_coord_may_choose(const sti_coordinator *c, uint32_t s)
{
    const sti_chooser *chooser = &c->choosers[s];
    if (chooser->state == STI_CHOOSER_RESTS)
        return chooser->ask->n_moved > 0;
    return chooser->state != STI_CHOOSER_WAITS;
}

/* Who is at rest and has been told of something since has an even share. */
static double known_mass(const sti_chooser *chooser)
{
    return chooser->state == STI_CHOOSER_RESTS ? 0 : chooser->mass;
}

/* Of those that are known; 1 where none is. No sum overflows. */
static double mean_mass(const sti_coordinator *c)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t s = 0; s < c->run->schedulers; s++)
        if (sti_coord_may_choose(c, s) && known_mass(&c->choosers[s]) > 0) {
            sum += known_mass(&c->choosers[s]) / c->run->schedulers;
            n++;
        }
    return n ? sum / n * c->run->schedulers : 1;
}

void sti_coord_pass_turn(sti_coordinator *c)
{
    const double mean = mean_mass(c);
    double total = 0;
    c->turn = STI_CHOOSER_NONE;
    for (uint32_t s = 0; s < c->run->schedulers; s++) {
        if (!sti_coord_may_choose(c, s))
            continue;
        sti_chooser *chooser = &c->choosers[s];
        const double mass = known_mass(chooser);
        const double share = mass > 0 ? fmax(mass / mean, LEAST) : 1;
        total += share;
        chooser->credit += share;
        if (c->turn == STI_CHOOSER_NONE ||
            chooser->credit > c->choosers[c->turn].credit)
            c->turn = s;
    }
    if (c->turn != STI_CHOOSER_NONE)
        c->choosers[c->turn].credit -= total;
}
