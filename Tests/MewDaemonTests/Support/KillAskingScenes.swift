import MewWire
import Testing

// Scenes of the requests that the shell agent never makes: questions, and plans that want approval.

extension KillScene {
    static let asking = ["ask", "plan"].flatMap { word in
        let what = word == "ask" ? "a question" : "a plan"
        return [
            KillScene("\(what) is shown") { stage in
                let laptop = try await stage.beginTalking()
                try await laptop.prompt(thatWants: word)
                _ = try await laptop.nextRequest()
            },
            KillScene("\(what) has its answer sent") { stage in
                let laptop = try await stage.beginTalking()
                try await laptop.prompt(thatWants: word)
                try await laptop.answerNext()
            },
            KillScene("\(what) is settled") { stage in
                let laptop = try await stage.beginTalking()
                try await laptop.prompt(thatWants: word)
                try await laptop.answerNext()
                try await laptop.hear(.answerVerdict)
            },
            KillScene("\(what) is refused, and that is settled") { stage in
                let laptop = try await stage.beginTalking()
                try await laptop.prompt(thatWants: word)
                try await laptop.answerNext(.deny)
                try await laptop.hear(.answerVerdict)
            },
            KillScene("\(what) is answered by one of three devices, and all have heard it") { stage in
                let devices = try await stage.gatherTalking()
                try await devices[0].prompt(thatWants: word)
                for device in devices.dropLast() { _ = try await device.nextRequest() }
                try await devices[2].answerNext()
                for device in devices { try await device.hear(.requestResolved) }
            },
        ]
    }
}
