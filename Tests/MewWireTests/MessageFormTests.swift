import MewTestSupport
import MewWire
import Testing

@Suite("Message forms")
struct MessageFormTests {
    @Test("there is a form for every message type and no other")
    func complete() {
        #expect(WireForm.client.map(\.type).sorted() == ClientMessage.Kind.allCases.map(\.rawValue).sorted())
        #expect(WireForm.daemon.map(\.type).sorted() == DaemonMessage.Kind.allCases.map(\.rawValue).sorted())
        for form in WireForm.client {
            #expect(ClientMessage.Kind(rawValue: form.type)?.isNativeOnly == form.isNativeOnly, "\(form)")
        }
        for form in WireForm.daemon {
            #expect(DaemonMessage.Kind(rawValue: form.type)?.isNativeOnly == form.isNativeOnly, "\(form)")
        }
    }

    @Test("with all fields, a message goes through a native link byte for byte")
    func native() throws {
        for (form, isClient) in forms {
            #expect(try rewritten(form.text, from: isClient, on: .native) == form.text)
            let names = try JSON(parsing: form.text).asObject?.keys
            #expect(names == ["type"] + form.fields.map(\.name), "the form of \(form) must show every field")
        }
    }

    @Test("on a stock link no native field is written, and none is read")
    func stock() throws {
        for (form, isClient) in forms where !form.isNativeOnly {
            let stockFields = form.fields.filter { !$0.isNative }
            guard case .object(let full) = try JSON(parsing: form.text) else { continue }
            let expected = ["type"] + stockFields.map(\.name)
            let read = try rewritten(form.text, from: isClient, on: .stock)
            #expect(try JSON(parsing: read ?? "").asObject?.keys == expected)
            // Read on a native link, so with its native fields, and written on a stock one.
            #expect(try rewritten(form.text, from: isClient, on: .native, writingOn: .stock) == read)
            if !["session_list", "session_history", "session_history_page"].contains(form.type) {
                #expect(
                    read == JSON.object(JSONObject(full.entries.filter { expected.contains($0.key) }.map(\.pair))).text)
            }
        }
    }

    @Test("native fields inside records stay out of stock links")
    func stockRecords() throws {
        let list = try #require(WireForm.daemon.first { $0.type == "session_list" })
        let info = try JSON(parsing: rewritten(list.text, from: false, on: .native, writingOn: .stock) ?? "")[
            "sessions"]
        #expect(info?.asArray?.first?.asObject?.keys.suffix(2) == ["pending_questions", "first_message"])
        let history = try #require(WireForm.daemon.first { $0.type == "session_history" })
        let text = try JSON(parsing: rewritten(history.text, from: false, on: .native, writingOn: .stock) ?? "")[
            "messages"]
        #expect(text?.asArray?.first?.asObject?.keys == ["id", "session_id", "role", "parts", "time", "assistant"])
    }

    @Test("a message that exists natively only is unknown on a stock link and is not written there")
    func nativeOnly() throws {
        for (form, isClient) in forms where form.isNativeOnly {
            let bytes = Array(form.text.utf8)
            if isClient {
                #expect(ClientFrame.decode(bytes, from: .stock) == .unknownType(name: form.type, .init()))
                #expect(try ClientFrame.decode(bytes, from: .native).frame.encoded(for: .stock) == nil)
            } else {
                #expect(DaemonFrame.decode(bytes, from: .stock) == .unknownType(name: form.type, .init()))
                #expect(try DaemonFrame.decode(bytes, from: .native).frame.encoded(for: .stock) == nil)
            }
        }
    }

    @Test("with the required fields only, the others are left out, null, or their default, as the form says")
    func minimal() throws {
        for (form, isClient) in forms {
            guard case .object(let full) = try JSON(parsing: form.text) else { continue }
            var least: JSONObject = ["type": .string(form.type)]
            var expected = least
            for field in form.fields {
                switch field.presence {
                case .required:
                    least[field.name] = full[field.name]
                    expected[field.name] = full[field.name]
                case .nullable: expected[field.name] = .null
                case .defaulted(let value): expected[field.name] = value
                case .optional: break
                }
            }
            #expect(
                try rewritten(JSON.object(least).text, from: isClient, on: .native) == JSON.object(expected).text,
                "\(form)")
        }
    }

    @Test("null is read like an absent value, except where a value is required")
    func nulls() throws {
        for (form, isClient) in forms {
            for field in form.fields {
                guard case .object(var object) = try JSON(parsing: form.text) else { continue }
                let isAnyJSON = field.name == "input"
                object[field.name] = .null
                let withNull = sentence(JSON.object(object).text, from: isClient)
                object[field.name] = nil
                let without = sentence(JSON.object(object).text, from: isClient)
                if field.presence == .required {
                    #expect(without == "\(field.name) is missing", "\(form).\(field.name)")
                    #expect(isAnyJSON ? withNull == nil : withNull?.hasPrefix("\(field.name) must be ") == true)
                } else {
                    #expect(withNull == nil && without == nil, "\(form).\(field.name)")
                }
            }
        }
    }

    @Test("a wrong type in any field, however deep, is refused with a sentence that names the field")
    func wrongTypes() throws {
        var count = 0
        for (form, isClient) in forms {
            for (path, changed) in wrongTypes(in: try JSON(parsing: form.text)) {
                let sentence = sentence(changed.text, from: isClient)
                #expect(sentence?.hasPrefix(path) == true, "\(form): \(path) gave \(sentence ?? "no error")")
                count += 1
            }
        }
        #expect(count > 400)
    }

    @Test("a message cut at any length is refused")
    func truncation() throws {
        for (form, isClient) in forms {
            for length in form.text.utf8.indices {
                #expect(sentence(String(form.text[..<length]), from: isClient)?.hasPrefix("not valid JSON: ") == true)
            }
        }
    }

    private var forms: [(WireForm, isClient: Bool)] {
        WireForm.client.map { ($0, true) } + WireForm.daemon.map { ($0, false) }
    }

    /// Every value replaced by one of another kind, with its path. Opaque JSON and the type itself are left alone.
    private func wrongTypes(in json: JSON, path: String = "") -> [(path: String, changed: JSON)] {
        switch json {
        case .object(let object):
            return object.entries.filter { !["input", "metadata", "type", "status", "outcome"].contains($0.key) }
                .flatMap {
                    entry in
                    let inner = path.isEmpty ? entry.key : "\(path).\(entry.key)"
                    let wrong: JSON = entry.value.asObject == nil ? ["x": 1] : "x"
                    return ([(path: inner, changed: wrong)] + wrongTypes(in: entry.value, path: inner)).map { found in
                        var copy = object
                        copy[entry.key] = found.changed
                        return (path: found.path, JSON.object(copy))
                    }
                }
        case .array(let elements):
            return elements.indices.flatMap { index in
                let inner = "\(path)[\(index)]"
                let wrong: JSON = elements[index].asObject == nil ? ["x": 1] : "x"
                return ([(path: inner, changed: wrong)] + wrongTypes(in: elements[index], path: inner)).map { found in
                    var copy = elements
                    copy[index] = found.changed
                    return (path: found.path, JSON.array(copy))
                }
            }
        case .null, .bool, .integer, .number, .string:
            return []
        }
    }

    /// What a refusal says; nil when the message is accepted.
    private func sentence(_ text: String, from isClient: Bool) -> String? {
        let bytes = Array(text.utf8)
        if isClient {
            if case .invalid(let sentence, _) = ClientFrame.decode(bytes, from: .native) { return sentence }
        } else {
            if case .invalid(let sentence, _) = DaemonFrame.decode(bytes, from: .native) { return sentence }
        }
        return nil
    }
}

extension JSONObject.Entry {
    var pair: (key: String, value: JSON) { (key, value) }
}
