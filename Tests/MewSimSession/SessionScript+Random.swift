internal import MewBase
internal import MewSim

extension SessionScript {
    /// The script of a seed: eight to forty acts and mishaps.
    package static func random(seed: UInt64) -> SessionScript {
        var random = SeededGenerator(seed: SeededGenerator.mix(seed &+ 0x5e55))
        let count = 8 + Int(random.below(UInt64(maxEntries - 7)))
        var entries: [Entry] = []
        while entries.count < count {
            if random.happens(0.06) {
                entries += lateArrival(&random)
            } else {
                entries.append(Entry(after: pause(&random), act(&random)))
            }
        }
        return SessionScript(Array(entries.prefix(count)))
    }

    /// A prompt is held on its way while its device goes away and comes back; perhaps it asks what became of it, perhaps it is in
    /// such a hurry that it sends it again before it can know.
    private static func lateArrival(_ random: inout SeededGenerator) -> [Entry] {
        let device = Int(random.below(UInt64(devices)))
        func soon(_ act: SessionAct) -> Entry { Entry(after: .milliseconds(Int64(random.below(400))), act) }
        var entries: [Entry] = []
        if random.happens(0.8) { entries.append(soon(.hold(.sessions, device, time(&random)))) }
        entries.append(soon(.prompt(device)))
        if random.happens(0.5) {
            entries.append(soon(.hold(.control, device, .milliseconds(Int64(random.below(12_000))))))
            entries.append(soon(.resend(device, .seconds(20))))
        }
        switch random.below(4) {
        case 0: entries += [soon(.detach(device)), soon(.attach(device))]
        case 1: entries.append(soon(.cut(.device(device), time(&random))))
        default:
            let pause = Duration.milliseconds(Int64(random.below(1_500)))
            entries.append(soon(.killDevice(device, startingAgainAfter: pause)))
        }
        return entries
    }

    /// Half of it comes so soon that the last one is not over.
    private static func pause(_ random: inout SeededGenerator) -> Duration {
        .milliseconds(Int64(random.happens(0.5) ? random.below(300) : random.below(6_000)))
    }

    private static func act(_ random: inout SeededGenerator) -> SessionAct {
        let device = Int(random.below(UInt64(devices)))
        switch random.below(100) {
        case 0: return random.happens(0.5) ? .flood(device) : .prompt(device)
        case 1..<28: return .prompt(device)
        case 28..<32: return .guide(device)
        case 32..<42: return .answer(device)
        case 42..<46: return .race
        case 46..<51: return .cancel(device)
        case 51..<53: return .clear(device)
        case 53..<54: return .compact(device)
        case 54..<57: return .takeLease(device)
        case 57..<60: return .releaseLease(device)
        case 60..<62: return .detach(device)
        case 62..<66: return .attach(device)
        case 66..<68: return .pageBack(device)
        case 68..<69: return .resend(device, time(&random))
        default: return mishap(device, &random)
        }
    }

    private static func mishap(_ device: Int, _ random: inout SeededGenerator) -> SessionAct {
        switch random.below(34) {
        case 0..<4: return .cut(.all, time(&random))
        case 4..<8: return .cut(.device(device), time(&random))
        case 8..<11: return .cut(.toDesk(device), time(&random))
        case 11..<15: return .cut(.fromDesk(device), time(&random))
        case 15..<18: return .freeze(device, time(&random))
        case 18..<20: return .freezeDesk(time(&random))
        case 20..<23: return .killDevice(device, startingAgainAfter: pause(&random))
        case 23..<25: return .stopDesk(startingAgainAfter: pause(&random))
        case 25..<27: return .killDesk(.process, startingAgainAfter: pause(&random))
        case 27..<29: return .killDesk(.power(seed: random.next()), startingAgainAfter: pause(&random))
        case 29: return .narrow(device, time(&random))
        case 30..<32: return .hold(.sessions, device, time(&random))
        case 32: return .hold(.control, device, time(&random))
        default: return .fillDisk(leaving: Int(random.below(20_000)), time(&random))
        }
    }

    /// From a hiccup to longer than any connection survives.
    private static func time(_ random: inout SeededGenerator) -> Duration {
        switch random.below(3) {
        case 0: .milliseconds(Int64(50 + random.below(1_500)))
        case 1: .milliseconds(Int64(1_000 + random.below(12_000)))
        default: .milliseconds(Int64(10_000 + random.below(50_000)))
        }
    }
}
