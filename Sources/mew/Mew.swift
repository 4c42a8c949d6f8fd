@main
struct Mew {
    static func main() {}
}
