internal import MewBase
internal import MewSim

extension SessionScript {
    /// The script of a seed: eight to forty acts and mishaps.
    package static func random(seed: UInt64) -> SessionScript {
        var random = SeededGenerator(seed: SeededGenerator.mix(seed &+ 0x5e55))
        let count = 8 + Int(random.below(UInt64(maxEntries - 7)))
        return SessionScript((0..<count).map { _ in Entry(after: pause(&random), act(&random)) })
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
        case 66..<69: return .pageBack(device)
        default: return mishap(device, &random)
        }
    }

    private static func mishap(_ device: Int, _ random: inout SeededGenerator) -> SessionAct {
        switch random.below(31) {
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
