/// How a relay tells its clients, in the answer to the upgrade, that it answers STUN on UDP at the address they have reached: then
/// silence there means that something on the way lets no UDP through. "1" is yes; relays of others do not say it.
///
/// Not told through a proxy, as far as it can be seen that there is one: UDP does not pass it.
enum StunField {
    static let name = "x-mew-stun"

    /// What a proxy adds (RFC 7239, RFC 9110 §7.6.3, and habit).
    private static let signsOfProxies = ["forwarded", "via", "x-forwarded-for"]

    static func isPossible(_ request: HTTPRequest) -> Bool {
        !signsOfProxies.contains { request.fields[$0] != nil }
    }

    static func says(_ response: HTTPResponse) -> Bool { response.fields[name] == "1" }
}
