import MewWire
import Testing

// Scenes of a device that does not read while a turn tells much: its queue overflows, it is told of a gap, it asks for what it missed.

extension KillScene {
    static let gaps = [
        KillScene("a device is told of a gap") { stage in _ = try await stage.overflow(.wide) },
        KillScene("a device is told of a gap, and the journal has lost its beginning") { stage in
            _ = try await stage.overflow(.long)
        },
        KillScene("a prompt of a device in a gap is stored") { stage in
            let viewer = try await stage.overflow(.wide)
            let prompt = try await viewer.prompt(thatWants: "ask")
            try await viewer.hear(prompt, is: .stored)
        },
        KillScene("what a gap left out is asked for") { stage in _ = try await stage.fill() },
        KillScene("what a gap left out comes, the session is shown") { stage in
            try await stage.fill().hear(.sessionReady)
        },
        KillScene("what a gap left out comes, the page is there") { stage in
            try await stage.fill().hear(.sessionHistoryPage)
        },
        KillScene("what a gap left out is there, and the next event") { stage in
            let viewer = try await stage.fill()
            try await viewer.hear(.caughtUp)
            try await viewer.hear(.errorEvent)
        },
        KillScene("what a gap left out is replayed, two events have come") { stage in
            let viewer = try await stage.overflow(.ended)
            // More than is on its way without being read, less than a snapshot is better than. The rest it may have from elsewhere.
            let near = SequenceNumber(stage.laptop.heard.last.rawValue - 50)
            try await viewer.resume(after: near)
            try await viewer.hear { _ in viewer.heard.last.rawValue == near.rawValue + 2 }
        },
    ]
}

extension KillStage {
    /// What an agent tells in a turn.
    struct Flood: Sendable {
        /// Who has not read anything when so many were told has a gap.
        let events: Int
        /// In the turn.
        let count: Int
        let bytes: Int

        /// 5 MiB: a queue has 4, a stream below it that nobody reads half of one. The turn goes on.
        static let wide = Flood(events: 320, count: 2_048, bytes: 16 << 10)
        /// The same, and the turn is over.
        static let ended = Flood(events: 320, count: 320, bytes: 16 << 10)
        /// A queue has 4,096, half a MiB is 2,000. A journal of more than 11,000 is trimmed.
        static let long = Flood(events: 12_000, count: 24_000, bytes: 100)
    }

    /// A turn tells much, and one of two devices does not read until it has a gap. Returns that one, which has read up to the gap.
    func overflow(_ flood: Flood) async throws -> KillDevice {
        let laptop = try await beginTalking()
        let viewer = devices[1]
        try await viewer.connect()
        try await viewer.attach(try #require(session))
        try await viewer.hear(.caughtUp)
        try await laptop.flood(flood)
        try await laptop.follow(to: SequenceNumber(UInt64(flood.events)))
        try await viewer.hear(.gap)
        return viewer
    }

    /// Returns it when it has asked for what it missed.
    func fill() async throws -> KillDevice {
        let viewer = try await overflow(.wide)
        try await viewer.resume(after: viewer.heard.last)
        return viewer
    }
}
