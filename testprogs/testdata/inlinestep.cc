// A little server at -O2: containers and smart pointers of the library are inlined into
// it, destructors behind calls too. Stepping has to stay on its own lines.
//build: -O2

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Session {
	std::string user;
	std::vector<int> sizes;
	int requests = 0;

	explicit Session(std::string name) : user(std::move(name)) {}
	void add(int n);
	int total() const;
};

__attribute__((noinline)) void Session::add(int n)
{
	sizes.push_back(n);
	requests++;
}

int Session::total() const
{
	int sum = 0;
	for (int n : sizes)
		sum += n;
	return sum;
}

class Server {
public:
	Session &session(const std::string &user);
	int handle(const std::string &user, int size);
	std::unique_ptr<std::vector<int>> totals() const;
	void drop(const std::string &user);

private:
	std::map<std::string, std::unique_ptr<Session>> sessions_;
	long handled_ = 0;
};

__attribute__((noinline)) Session &Server::session(const std::string &user)
{
	auto at = sessions_.find(user);
	if (at == sessions_.end()) {
		auto made = std::make_unique<Session>(user);
		at = sessions_.emplace(user, std::move(made)).first;
	}
	return *at->second;
}

__attribute__((noinline)) int Server::handle(const std::string &user, int size)
{
	Session &s = session(user);
	s.add(size);
	handled_++;
	int sum = s.total();
	if (sum > 100)
		std::printf("%s: %d\n", s.user.c_str(), sum);
	return sum;
}

__attribute__((noinline)) std::unique_ptr<std::vector<int>> Server::totals() const
{
	auto all = std::make_unique<std::vector<int>>();
	for (const auto &[name, s] : sessions_) {
		int sum = s->total();
		all->push_back(sum);
	}
	return all;
}

__attribute__((noinline)) void Server::drop(const std::string &user)
{
	auto at = sessions_.find(user);
	if (at == sessions_.end())
		return;
	sessions_.erase(at);
	handled_ = 0;
}

static inline int scale(int n)
{
	int twice = n * 2;
	twice += n / 3;
	return twice;
}

__attribute__((noinline)) int work(Server &server)
{
	std::vector<std::string> users{"ada", "bob", "cyd"};
	int last = 0;
	for (int i = 0; i < 4; i++) {
		for (const auto &u : users)
			last += server.handle(u, scale(i + last % 7));
		auto sums = server.totals();
		last += (*sums)[0];
	}
	server.drop("bob");
	std::string note = "done with " + users[0];
	std::puts(note.c_str());
	return last;
}

int main()
{
	Server server;
	int n = work(server);
	std::printf("%d\n", n);
	return 0;
}
