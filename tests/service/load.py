"""Load on a service, in plain sockets: workers that ask and tell, repeat themselves, survive its death."""

from __future__ import annotations

import asyncio
import json
import random

SLATE = {"n": 3, "distinct": True}
# The arm that retires and comes back, and the one that a stop answers: numbers of arms without ids.
RETIRING, LAST = 7, 2
_UNITS = 8  # bits: so many units ask again and again, beside those of a growing range
_SLACK = 5.0  # seconds after which a replica has read that an arm retired


class Connection:
    """One connection at a time, opened again when it breaks: to the next of several services."""

    def __init__(self, ports, turn=0):
        self.ports, self.turn, self.reader, self.writer = ports, turn, None, None

    async def post(self, path, body, key=None):
        """Return status and answer, or raise OSError where the connection breaks."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(
                "127.0.0.1", self.ports[self.turn % len(self.ports)]
            )
        content = json.dumps(body).encode()
        once = f"idempotency-key: {key}\r\n" if key else ""
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{once}content-length: {len(content)}\r\n\r\n"
        self.writer.write(head.encode() + content)
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").lower().split("\r\n")
            length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
            answer = await self.reader.readexactly(length)
        except asyncio.IncompleteReadError:
            raise ConnectionResetError from None
        return int(lines[0].split()[1]), json.loads(answer)

    def drop(self):
        self.turn += 1
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


class Load:
    """Workers, and what was acknowledged to them.

    With `keeps`, what was acknowledged is remembered to be compared with the log; else it is counted only.
    """

    def __init__(self, ports, name, n_connections=64, repeats=0.05, seed=0, keeps=True):
        self.ports, self.path, self.keeps = ports, f"/v1/experiments/{name}", keeps
        self.n_connections, self.repeats = n_connections, repeats
        self.rng = random.Random(seed)
        self.asked, self.told = {}, {}  # arm, and reward, by id
        self.arm_of = {}  # by unit
        self.n_units = 0  # of the growing range
        self.erased = []  # ids of a unit's decisions: two before it was erased, and one after
        self.acted = []  # the reasons of pauses and the like
        self.n_acknowledged = self.n_repeated = 0
        self.is_over = False
        self.wrong = []

    async def _sure(self, connection, call, body, key=None):
        """Send a request until it is acknowledged."""
        while True:
            try:
                status, answer = await connection.post(f"{self.path}/{call}", body, key)
                if status == 200:
                    self.n_acknowledged += 1
                    return answer
                is_halted = answer.get("title") == "Paused" or "is stopped with" in answer.get("detail", "")
                if "has not retired" in answer.get("detail", ""):  # it was reinstated before the service died
                    return answer
                if status not in (429, 503) and not is_halted:
                    self.wrong.append((call, status, answer))
                    return None
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass
            connection.drop()
            await asyncio.sleep(0.02 + 0.05 * self.rng.random())

    async def _work(self, turn):
        connection = Connection(self.ports, turn)
        while not self.is_over:
            key = f"{self.rng.getrandbits(96):024x}"
            unit, kind = self._unit(), self.rng.random()
            if self.keeps and kind > 0.99:
                await self._erase(connection, f"gone-{key}")
                continue
            body = {"unit": unit} if kind < 0.3 else SLATE if kind < 0.4 else {}
            answer = await self._sure(connection, "ask", body, key)
            if answer is None:
                break
            if self.rng.random() < self.repeats:
                self.n_repeated += 1
                if await self._sure(connection, "ask", body, key) != answer:
                    self.wrong.append(("ask", "a repeat was answered otherwise"))
            first, *others = answer["decisions"]
            if others:
                await self._tell_slate(connection, [first, *others])
                continue
            decision = first
            is_own = "unit" in body and decision["arm"] not in (RETIRING, LAST)
            if is_own and self.arm_of.setdefault(unit, decision["arm"]) != decision["arm"]:
                self.wrong.append(("ask", "a unit saw two arms"))
            if decision["id"] in self.asked:
                self.wrong.append(("ask", "an id was handed out twice"))
            if self.keeps:
                self.asked[decision["id"]] = decision["arm"]
            reward = float(self.rng.random() < 0.5)
            for _ in range(1 + (self.rng.random() < self.repeats)):
                answer = await self._sure(connection, "tell", {"decision": decision["id"], "reward": reward})
                if answer is None or answer["learned"] + answer["repeated"] != 1:
                    self.wrong.append(("tell", answer))
            if self.rng.random() < self.repeats:
                reward = 1.0 - reward
                told = {"decision": decision["id"], "reward": reward, "repeat": "replace"}
                answer = await self._sure(connection, "tell", told)
                if answer is None or answer["learned"] + answer["repeated"] != 1:
                    self.wrong.append(("tell", answer))
            if self.keeps:
                self.told[decision["id"]] = reward
        connection.drop()

    def _unit(self):
        """Return a unit: of some that come again and again, or (in 3 of 10 cases) of more and more."""
        if not self.keeps or self.rng.random() < 0.7:
            return f"user-{self.rng.getrandbits(_UNITS)}"
        self.n_units += 1
        return f"more-{self.rng.randrange(self.n_units)}"

    async def _erase(self, connection, unit):
        """Let a unit ask twice, erase it, and let it ask again: then it is another one."""
        ids = []
        for at in range(3):
            turn = connection.turn
            if at == 2:
                await self._sure(connection, "erase-unit", {"unit": unit})
                turn = connection.turn
            answer = await self._sure(connection, "ask", {"unit": unit}, f"{unit} {at}")
            if answer is None:
                return
            (decision,) = answer["decisions"]
            self.asked[decision["id"]] = decision["arm"]
            ids.append(decision["id"])
        if turn == connection.turn:  # another replica reads a moment later that the unit is gone
            self.erased.append(ids)

    async def _tell_slate(self, connection, decisions):
        """Tell what different arms that were asked for at once paid, all in one request."""
        if len({each["arm"] for each in decisions}) < SLATE["n"]:
            self.wrong.append(("ask", "a slate names an arm twice"))
        rewards = [{"decision": each["id"], "reward": float(self.rng.random() < 0.5)} for each in decisions]
        answer = await self._sure(connection, "tell", {"rewards": rewards})
        if answer is None or answer["learned"] + answer["repeated"] != len(rewards):
            self.wrong.append(("tell", answer))
        if any(each["id"] in self.asked for each in decisions):
            self.wrong.append(("ask", "an id was handed out twice"))
        if self.keeps:
            self.asked |= {each["id"]: each["arm"] for each in decisions}
            self.told |= {each["decision"]: each["reward"] for each in rewards}

    async def _operate(self):
        """Pause, stop and retire for a moment and go on, again and again."""
        connection = Connection(self.ports)
        calls = [("pause", {}, 0.02), ("resume", {}, 0.3), ("retire", {"arm": RETIRING}, 0.1)]
        calls += [("reinstate", {"arm": RETIRING}, 0.3), ("stop", {"arm": LAST}, 0.02), ("resume", {}, 0.3)]
        while not self.is_over:
            for call, body, seconds in calls:
                reason = f"{self.rng.getrandbits(96):024x}"
                await self._sure(connection, call, body | {"reason": reason})
                self.acted.append(reason)
                await asyncio.sleep(seconds)
        connection.drop()

    async def run(self, meanwhile):
        """Work until `meanwhile`, a coroutine, is over; then let every worker end its round."""
        workers = [asyncio.create_task(self._work(turn)) for turn in range(self.n_connections)]
        workers += [asyncio.create_task(self._operate())] if self.keeps else []
        await meanwhile
        self.is_over = True
        await asyncio.gather(*workers)

    def check(self, events, arms):
        """Return how many acknowledged events are lost or doubled, and whether plays are those of the log."""
        from lsdt.service.decision_ids import parts

        asks = [event for event in events if event["event"] == "ask"]
        tells = [event for event in events if event["event"] == "tell"]
        in_log = {event["decision"]: event["arm"] for event in asks}
        learned = {event["decision"]: event["reward"] for event in tells}
        n_learned = len(learned)
        learned |= {event["decision"]: event["reward"] for event in events if event["event"] == "replace"}
        n_moved = _n_moved(asks)
        asked = {parts(text).number: arm for text, arm in self.asked.items()}
        told = {parts(text).number: reward for text, reward in self.told.items()}
        lost = sum(in_log.get(number) != arm for number, arm in asked.items())
        lost += sum(learned.get(number) != reward for number, reward in told.items())
        actions_lost = len(set(self.acted).difference(event["reason"] for event in events))
        n_known, first_of = 0, {event["decision"]: event["first"] for event in asks}
        for before, again, after in ([parts(text).number for text in ids] for ids in self.erased):
            n_moved += first_of.get(again) != before
            n_known += first_of.get(after) is not None
        doubled = len(asks) - len(in_log) + len(tells) - n_learned
        doubled += len(in_log) - len(asked)  # an ask that was made twice for one key
        plays = {row["arm"]: row["plays"] for row in arms}
        counted = dict.fromkeys(plays, 0)
        for event in tells:
            counted[event["arm"]] += 1
        total, rest = sum(learned.values()), sum(row["plays"] * (row["mean"] or 0.0) for row in arms)
        return {
            "lost": lost,
            "actions lost": actions_lost,
            "doubled": doubled,
            "units with two arms": n_moved,
            "units that were erased and are still known": n_known,
            "units that were erased": len(self.erased),
            "decisions of units that were there before": sum(each["first"] is not None for each in asks),
            "plays equal the log": plays == counted,
            "rewards equal the log": abs(total - rest) < 1e-6 * (1.0 + total),
        }


def _n_moved(asks):
    """Return how many decisions gave a unit another arm, without a reason.

    It leaves the arm that retires, for good, and a stop answers its own arm, with a propensity of 1.
    """
    groups = {}
    for each in asks:
        groups.setdefault(each["decision"] if each["first"] is None else each["first"], []).append(each)
    n_moved = 0
    for group in groups.values():
        own, moved = None, None
        for each in group:
            if each["arm"] == LAST and each["propensity"] == 1.0 and each["first"] is not None:
                continue
            if each["arm"] == RETIRING:
                n_moved += moved is not None and each["time"] > moved + _SLACK
            elif own is None:
                own, moved = each["arm"], each["time"]
            else:
                n_moved += each["arm"] != own
    return n_moved
