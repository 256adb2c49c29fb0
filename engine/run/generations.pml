/* A model of a run's membership epochs ("generations", nodes.c) for spin. Node 0
 * counts the contribution of each partition to each round. Nodes are killed and
 * restarted, stop answering and recover. The run returns to its last checkpoint
 * and continues without the nodes that it lost.
 *
 *     G1  a node never begins an epoch that is older than its last one
 *     G2  each partition counts once in each round: nothing from an earlier
 *         epoch, nothing twice
 *     G3  a node that asks to join is admitted or notified of the end
 *     and all processes end
 *
 * Planted errors: COUNT_OLD; TORN_CHECKPOINT (a checkpoint without its last partition);
 * LOST_LATE (a request to join is lost while an epoch begins). */
#ifndef NODES
#define NODES 2 /* besides node 0 */
#endif
#ifndef KILLS
#define KILLS 2
#endif
#ifndef SILENCES
#define SILENCES 1
#endif
#define K 2
#define ROUNDS 2
#define ROOM 8

mtype = {work, inc, join, fenced, over};
chan to_head = [ROOM] of {mtype, byte, byte, byte}; /* generation, node, partition */
chan to_node[NODES] = [ROOM] of {mtype, byte, byte}; /* generation, hosts */

bool dead[NODES], member[NODES], waiting[NODES], ended;
byte kills = KILLS, silences = SILENCES;
byte generation = 0;

inline tell(w, kind, what)
{
    if
    :: dead[w]
    :: !dead[w] && nfull(to_node[w]) -> to_node[w]!kind(generation, what)
    fi
}

/* Assigns partitions to the members in turn; without members, all to node 0. */
inline dispatch()
{
    d_step {
        hosts[0] = 0; hosts[1] = 0; to = 0; p = 0;
        do
        :: p < K ->
            n = 0;
            do
            :: n < NODES && !member[to] -> to = (to + 1) % NODES; n++
            :: else -> break
            od;
            if
            :: n == NODES -> got[p] = 1
            :: else -> hosts[to] = hosts[to] | (1 << p); to = (to + 1) % NODES
            fi;
            p++
        :: else -> break
        od;
        p = 0; n = 0; to = 0
    }
    w = 0;
    do
    :: w < NODES ->
        if
        :: member[w] -> tell(w, work, hosts[w])
        :: else
        fi;
        w++
    :: else -> break
    od;
    w = 0
}

/* The next epoch: drops dead nodes and admits waiting ones. */
inline regroup()
{
    d_step {
        generation++;
        round = checkpoint_round;
        w = 0;
        do
        :: w < K -> count[w] = checkpoint_count[w]; got[w] = 0; w++
        :: else -> break
        od;
        w = 0;
        do
        :: w < NODES ->
            member[w] = (member[w] || waiting[w]) && !dead[w];
            waiting[w] = false;
            w++
        :: else -> break
        od;
        w = 0
    }
    dispatch()
}

proctype Head()
{
    byte round, checkpoint_round, w, g, p, n, to;
    byte count[K], checkpoint_count[K], got[K], hosts[NODES];
    regroup();
    do
    :: to_head?inc(g, w, p) ->
        atomic {
#ifdef COUNT_OLD
            if
            :: true -> got[p]++
            fi;
#else
            if
            :: g == generation -> got[p]++
            :: else
            fi;
#endif
            assert(got[p] <= 1 /* G2_once */);
            w = 0; g = 0; p = 0
        }
    :: to_head?join(g, w, p) ->
        if
        :: member[w] -> /* replaced by another process */
            member[w] = false; waiting[w] = true; w = 0; p = 0; g = 0;
            regroup()
#ifdef LOST_LATE
        :: !member[w] && round == checkpoint_round -> w = 0; p = 0; g = 0
#endif
        :: !member[w] -> waiting[w] = true; w = 0; p = 0; g = 0
        fi
    :: got[0] == 1 && got[1] == 1 ->
        atomic {
            round++;
            count[0]++; count[1]++;
            got[0] = 0; got[1] = 0;
            if
            :: true -> checkpoint_round = round; checkpoint_count[0] = count[0];
#ifndef TORN_CHECKPOINT
                checkpoint_count[1] = count[1]
#endif
            :: true
            fi;
            assert(count[0] == round && count[1] == round /* G2_checkpoint */)
        }
        if
        :: round == ROUNDS -> break
        :: round < ROUNDS -> dispatch()
        fi
    :: round == checkpoint_round && (waiting[0] || waiting[NODES - 1]) -> regroup()
    :: (member[0] && dead[0]) || (member[NODES - 1] && dead[NODES - 1]) ->
        regroup()
    :: silences > 0 && (member[0] || member[NODES - 1]) ->
        silences--;
        if
        :: member[0] -> w = 0
        :: member[NODES - 1] -> w = NODES - 1
        fi;
        member[w] = false;
        tell(w, fenced, 0);
        regroup()
    od;
    w = 0;
    do
    :: w < NODES ->
        if
        :: member[w] || waiting[w] -> tell(w, over, 0); waiting[w] = false
        :: else
        fi;
        w++
    :: else -> break
    od;
    ended = true
}

proctype Node(byte w)
{
    byte g, mine, given;
    bool asks;
again:
    atomic { /* a new process: no message to the earlier one reaches it */
        do
        :: to_node[w]?_, _, _
        :: empty(to_node[w]) -> break
        od;
        dead[w] = false; mine = 0; g = 0; given = 0
    }
ask:
    if
    :: ended -> goto done
    :: atomic { nfull(to_head) -> to_head!join(0, w, 0); asks = true }
    fi;
    do
    :: to_node[w]?work(g, given) ->
        atomic {
            asks = false;
            assert(g >= mine /* G1_older */);
            mine = g
        }
        if
        :: given & 1 && nfull(to_head) -> to_head!inc(mine, w, 0)
        :: !(given & 1) || ended
        fi;
        if
        :: given & 2 && nfull(to_head) -> to_head!inc(mine, w, 1)
        :: !(given & 2) || ended
        fi;
        given = 0; g = 0
    :: to_node[w]?fenced(g, given) -> g = 0; given = 0; goto ask
    :: to_node[w]?over(_, _) -> break
    :: ended && empty(to_node[w]) ->
        assert(!asks || to_head??[join, 0, eval(w), 0] /* G3_late */);
        break
    :: atomic { kills > 0 -> kills--; dead[w] = true; asks = false }
        if
        :: goto again
        :: break
        fi
    od;
done:
    skip
}

init
{
    byte w;
    atomic {
        run Head();
        do
        :: w < NODES -> run Node(w); w++
        :: else -> break
        od
    }
}
